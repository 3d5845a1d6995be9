import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Diagram, GraphRecord, Page } from '../../protocol';
import { trans } from '../../words';
import { GraphPicture } from './graphView';
import { Icon, VerdictIcon } from '../parts/icons';
import { Section } from '../parts/section';
import { Fact, seen, Sentence, Spoken } from '../parts/texts';
import { textOf, Words } from '../parts/words';
import { Drawn, keyed, Tables } from '../tables/tables';
import { Picture } from './picture';

/** Properties of a page. */
interface PageProps {
  page: Page;
  graph?: GraphRecord | undefined;
  /** Whether the title is shown above it already. */
  isInside?: boolean;
}

/** An outline: a title, sentences, a picture, collapsible tables, and its parts. */
export function PageView({ page, graph, isInside = false }: PageProps): VNode {
  const { summary } = page;
  const details = hasMore(page) ? <PageBody page={page} isInside={isInside} /> : null;
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
        details
      )}
    </div>
  );
}

function hasMore({ tables, groups }: Page): boolean {
  return tables.length + groups.length > 0;
}

/** The title, the last call, and its facts. */
function Heading({ page, isInside }: { page: Page; isInside: boolean }): VNode | null {
  const { call, status, summary, title, verdict } = page;
  // Without collapsible content, the summary is one of the facts.
  const isFact = summary && (isInside || !hasMore(page));
  const facts = [...(isFact ? [summary] : []), ...(page.facts ?? [])];
  if (isInside && !status && facts.length === 0) {
    return null;
  }
  const kind = isInside
    ? 'nbfn-Page-inside'
    : call
      ? 'nbfn-Page-call'
      : 'nbfn-Page-title';
  return (
    <p class={kind}>
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

/** The tables and parts; the first table has no title if the same text is above it. */
function PageBody({ page, isInside }: { page: Page; isInside: boolean }): VNode {
  const { tables, groups, summary, title } = page;
  const [first, ...others] = tables;
  const isAlone = !summary && others.length + groups.length === 0;
  const isBare = isInside && first && (isAlone || first.title === title);
  return (
    <>
      {isBare && <Drawn table={first} />}
      <Tables tables={isBare ? others : tables} />
      {keyed(groups).map(([key, group]) => (
        <Section
          key={key}
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
