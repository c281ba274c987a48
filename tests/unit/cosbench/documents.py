# SPDX-License-Identifier: Apache-2.0
"""Workload documents of the tests, and what is asked of them."""

from cosbench.document.reader import read
from cosbench.errors import WorkloadError

READ = '<operation type="read" config="containers=u(1,2);objects=u(1,9)"/>'
NORMAL = '<work name="w" workers="8" runtime="30">%s</work>' % READ

#: Every construct of COSBench's published files.
PUBLISHED = '''<?xml version="1.0" encoding="UTF-8" ?>
<!-- a comment with <work type="x"> and an apostrophe's -->
<workload name="sample" description="a description
\tof two lines <and more>">

  <storage type="s3" config="accesskey=<access key>;secretkey=</k/>=b" />
  <auth type="swauth" config="username=test:tester;password=p;auth_url=http://127.0.0.1:8080/auth/v1.0" />

  <workflow>
    <workstage name="init">
      <storage type="swift" config="policy=gold" />
      <work type="init" workers="1" config="cprefix=a-b;containers=r(1,32)" />
    </workstage>
    <workstage name="prepare" closuredelay="60">
      <work type="prepare"
            workers="1"
    config="hashcheck=true;containers=r(1,32);objects=r(1,50);sizes=h(1|100|604,101|500|116)KB" />
    </workstage>
    <workstage name="delay" closuredelay="60">
      <work name="delay" type="delay">
        <operation type="delay"/>
      </work>
    </workstage>
    <workstage name="write - 240t - 4MB">
      <work name="c1p0" workers="16" runtime="300">
        <storage type="mock" config="size=64000" />
        <operation type="read" ratio="80" config="hashcheck=true;containers=u(1,32);objects=u(1,50)" />
        <operation type="write" ratio="20" config="containers=c(1);objects=s(51,100);content=zero;sizes=c(64)KB;oprefix=4m_" />
        <operation type="delete" ratio="0" config="" />
      </work>
      <work name="c2p0" workers="10" totalOps="10">
        <operation type="list" config="containers=u(1,32)" />
      </work>
    </workstage>
    <workstage name="cleanup">
      <work type="cleanup" workers="1" config="containers=r(1,32);objects=r(1,100)" />
    </workstage>
    <workstage name="dispose">
      <work type="dispose" workers="1" config="containers=r(1,32)" />
    </workstage>
  </workflow>
</workload>
'''  # noqa: E501


def wrapped(*works, stage='name="s"', workload='name="n"', above=''):
    """:param works: elements of one workstage
    :param above: elements beside the workflow
    :returns: a document; each work begins a line, the first line 4
    """
    return '<workload %s>%s\n<workflow>\n<workstage %s>\n%s\n</workstage>' \
        '</workflow></workload>' % (workload, above, stage, '\n'.join(works))


def work(operations=READ, attributes='workers="1" runtime="1"'):
    return '<work name="w" %s>%s</work>' % (attributes, operations)


def operation(config, kind='write', attributes=''):
    return '<operation type="%s" %s config="%s"/>' % (
        kind, attributes, config)


def reads(attributes, storage='<storage type="mock"/>', objects='c(1)',
          **around):
    """:returns: a document with one work that reads from a storage"""
    return wrapped(work(operation('containers=c(1);objects=' + objects,
                                  'read'), attributes),
                   above=storage, **around)


def works_of(*works, **around):
    """:returns: the works of a document that has them"""
    return read(wrapped(*works, **around).encode()).workload.works


def warnings_of(text):
    return [str(each.line) + ': ' + each.reason
            for each in read(text.encode()).warnings]


def refusals_of(text):
    """:param text: a document
    :returns: 'line: reason' for each thing that it is refused for
    """
    try:
        read(text if isinstance(text, bytes) else text.encode())
    except WorkloadError as err:
        return ['%d: %s' % (each.line, each.reason)
                for each in err.problems]
    return []
