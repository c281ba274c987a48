# SPDX-License-Identifier: Apache-2.0
"""``cosbench controller``: takes workloads and has drivers run them."""

from cosbench.commands import common_arguments
from cosbench.console import site
from cosbench.controller.core.plan import FORM, addresses
from cosbench.controller.core.workload_states import OnLoss, Policy
from cosbench.controller.driver_client import Driver
from cosbench.controller.local import session
from cosbench.controller.run_store import Archive
from cosbench.controller.workload_queue import Controller
from cosbench.driver.process import listening, run
from cosbench.driver.secret import SECRET, TOKEN, client_tls, secret
from cosbench.experiment.hosted import Hosted
from cosbench.tasks import beside


def add(name, command):
    """Add the arguments of the command to its parser."""
    command.description = 'Listen for clients and, with the web console, ' \
        'for browsers; run what they submit, one workload after the other. ' \
        'Prints a line of JSON when its port is open.'
    common_arguments.listener(command,
                              common_arguments.CONTROLLER_PORT)
    command.add_argument(
        '--driver', action='append', required=True, metavar='URL',
        help='%s; may be repeated' % FORM)
    command.add_argument(
        '--archive', metavar='DIRECTORY', default='archive',
        help='where runs and their reports go; default: %(default)s')
    command.add_argument(
        '--experiments', metavar='DIRECTORY', default='experiments',
        help='has directories of experiments, which the console shows and '
        'conducts; default: %(default)s')
    command.add_argument(
        '--secret-file', metavar='FILE', help='has the secret that '
        'controller and drivers share; default: $' + SECRET)
    command.add_argument(
        '--token-file', metavar='FILE', help='has the token that clients '
        'must know; default: $' + TOKEN)
    command.add_argument(
        '--driver-ca', metavar='FILE', help='a certificate to check those '
        'of drivers with, such as their own')
    command.add_argument(
        '--lease', type=common_arguments.positive, default=60,
        metavar='SECONDS',
        help='without a word of the controller for so long a driver stops '
        'its load; default: %(default)s')
    common_arguments.watch(command)
    common_arguments.loss(command, 15)
    common_arguments.log_level(command)
    command.set_defaults(run=main)


def main(args):
    """Run the command, and return its exit status."""
    common_arguments.check_listener(args)
    common_arguments.log_to_stderr(args.log_level)
    args.driver = addresses(args.driver)
    known = secret(args.secret_file, SECRET), secret(args.token_file, TOKEN)
    run(_serve(args, *known))
    return 0


async def _serve(args, shared, token):
    """Until SIGTERM or SIGINT, which cancel the workload that runs."""
    archive = Archive(args.archive)
    try:
        async with session(client_tls(args.driver_ca)) as http:
            controller = Controller(archive, [
                Driver(each, shared, http, args.driver_timeout)
                for each in args.driver],
                Policy(OnLoss(args.on_driver_loss), args.lease), args.watch)
            await controller.open()
            hosted = Hosted(controller, args.experiments)
            application = site.application(controller, token, hosted)
            async with beside(controller.work()), \
                    listening(application, args) as stop:
                await stop.wait()
                await hosted.close()
                await controller.close()
    finally:
        archive.close()
