import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Diagram, GraphRecord, Page, PageTable } from '../../protocol';
import { trans } from '../../words';
import { GraphPicture } from './graphView';
import { Code, Rows } from './pageTable';
import { branchesOf, Tree } from './tree';
import { integer } from '../parts/format';
import { Icon, VerdictIcon } from '../parts/icons';
import { Section } from '../parts/section';
import { Fact, seen, Sentence, Spoken } from '../parts/texts';
import { textOf, Words } from '../parts/words';
import { Picture } from './picture';

/** Properties of a page. */
export interface PageProps {
  page: Page;
  graph?: GraphRecord | undefined;
  /** Whether the title stands above it already. */
  isInside?: boolean;
}

/** An outline: a title, sentences, a picture, tables that fold, and its parts. */
export function PageView({ page, graph, isInside = false }: PageProps): VNode {
  const { summary } = page;
  const details = hasMore(page) ? <PageBody page={page} /> : null;
  return (
    <div class={isInside ? undefined : 'nbfn-PageView'}>
      <Heading page={page} isInside={isInside} />
      {page.diagram && <PageDiagram diagram={page.diagram} />}
      {graph && (
        <Section class="nbfn-PageTable" title={trans.__('picture')} open>
          {() => <GraphPicture graph={graph} />}
        </Section>
      )}
      <Lines page={page} />
      {summary && !isInside && details ? (
        <Section class="nbfn-Disclosure" title={summary}>
          {() => details}
        </Section>
      ) : (
        <>
          {summary && <p class="nbfn-Muted">{summary}</p>}
          {details}
        </>
      )}
    </div>
  );
}

function hasMore({ tables, groups }: Page): boolean {
  return tables.length + groups.length > 0;
}

/** What it is about, what its last call was, and what that took. */
function Heading({ page, isInside }: { page: Page; isInside: boolean }): VNode | null {
  const { call, facts = [], status, title, verdict } = page;
  if (isInside && !status && facts.length === 0) {
    return null;
  }
  return (
    <p class={call ? 'nbfn-Page-call' : 'nbfn-Page-title'}>
      {call === 'retrace' && !isInside && (
        <Spoken text={status ? `${title}: ${textOf(status)}` : title} />
      )}
      {!isInside && (
        <>
          <VerdictIcon verdict={verdict} />
          {call && <Icon name={call} />}
          {status ? <code>{seen(title)}</code> : <Sentence text={title} />}{' '}
        </>
      )}
      {status && (
        <Fact>
          <Words words={status} />
        </Fact>
      )}
      {facts.map((fact, index) => (
        <span key={index} class="nbfn-Muted nbfn-Fact">
          <Words words={fact} />{' '}
        </span>
      ))}
    </p>
  );
}

function PageDiagram({ diagram }: { diagram: Diagram }): VNode {
  const data = useMemo(() => ({ diagram }), [diagram]);
  return <Picture name="diagram" data={data} />;
}

function Lines({ page }: { page: Page }): VNode {
  return (
    <>
      {page.lines.map((line, index) => (
        <p key={index} class="nbfn-Page-line">
          <Words words={line} />
        </p>
      ))}
    </>
  );
}

function PageBody({ page }: { page: Page }): VNode {
  return (
    <>
      {keyed(page.tables).map(([key, table]) => (
        <Section
          key={`table ${key}`}
          class="nbfn-PageTable"
          title={<Sentence text={table.title} />}
          note={integer(table.total)}
          open={table.open}
        >
          {() => <Drawn table={table} />}
        </Section>
      ))}
      {keyed(page.groups).map(([key, group]) => (
        <Section
          key={`group ${key}`}
          class="nbfn-PageGroup"
          title={
            <>
              <VerdictIcon verdict={group.verdict} />
              <Sentence text={group.title} />
            </>
          }
          open={group.open}
        >
          {() => <PageView page={group} isInside />}
        </Section>
      ))}
    </>
  );
}

function Drawn({ table }: { table: PageTable }): VNode {
  const { depths = [], header, kind, rows, title, total } = table;
  const branches = useMemo(() => branchesOf(rows, depths), [rows, depths]);
  switch (kind) {
    case 'code':
      return <Code table={table} />;
    case 'tree':
      return <Tree title={title} header={header} rows={branches} total={total} />;
    default:
      return <Rows table={table} />;
  }
}

/** Parts by their titles, so that what is open stays open when another comes before it. */
function keyed<T extends { title: string }>(parts: readonly T[]): [string, T][] {
  const seenOnes = new Map<string, number>();
  return parts.map(part => {
    const number = (seenOnes.get(part.title) ?? 0) + 1;
    seenOnes.set(part.title, number);
    return [`${part.title} ${number}`, part];
  });
}
