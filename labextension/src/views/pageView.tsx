import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Diagram, GraphRecord, Page, PageTable, Phrase } from '../protocol';
import { trans } from '../words';
import { GraphPicture } from './graphView';
import { PageLink } from './parts/causeText';
import { CellReference } from './parts/cellReference';
import { useFilter } from './parts/filter';
import { integer } from './parts/format';
import { VerdictIcon } from './parts/icons';
import { Limited } from './parts/limited';
import { RemedyButton } from './parts/remedyButton';
import { Section } from './parts/section';
import { Sentence } from './parts/texts';
import { Picture } from './picture';

/** What there is to say about a result: sentences, a picture, tables that fold, and its parts. */
export function PageView({
  page,
  graph
}: {
  page: Page;
  graph?: GraphRecord | undefined;
}): VNode {
  return (
    <div class="nbfn-PageView">
      <p class="nbfn-Page-title">
        <VerdictIcon verdict={page.verdict} />
        <Sentence text={page.title} />
      </p>
      {page.diagram && <PageDiagram diagram={page.diagram} />}
      {graph && (
        <Section class="nbfn-PageTable" title={trans.__('picture')} open>
          {() => <GraphPicture graph={graph} />}
        </Section>
      )}
      <PageBody page={page} />
    </div>
  );
}

function PageDiagram({ diagram }: { diagram: Diagram }): VNode {
  const data = useMemo(() => ({ diagram }), [diagram]);
  return <Picture name="diagram" data={data} />;
}

function PageBody({ page }: { page: Page }): VNode {
  return (
    <>
      {page.lines.map((line, index) => (
        <p key={index} class="nbfn-Page-line">
          <Words words={line} />
        </p>
      ))}
      {page.tables.map((table, index) => (
        <Section
          key={`table ${index}`}
          class="nbfn-PageTable"
          title={<Sentence text={table.title} />}
          note={integer(table.total)}
          open={table.open}
        >
          {() => <TableRows table={table} />}
        </Section>
      ))}
      {page.groups.map((group, index) => (
        <Section
          key={`group ${index}`}
          class="nbfn-PageGroup"
          title={
            <>
              <VerdictIcon verdict={group.verdict} />
              <Sentence text={group.title} />
            </>
          }
          open={group.open}
        >
          {() => <PageBody page={group} />}
        </Section>
      ))}
    </>
  );
}

/** What reads as a number with its unit, or as none. */
const NUMBER = /^(< )?[\d.,]*( ?(%|[kMGT]?B|n?s|[mµ]s))?$/;

/** A word that takes much of a line, as the names of operations. */
const LONG = /\S{30}/;

function TableRows({ table }: { table: PageTable }): VNode {
  const { items, field } = useFilter(
    table.rows,
    row => row.map(textOf).join(' '),
    trans.__('Filter %1', table.title)
  );
  const left = table.total - table.rows.length;
  const numbers = table.header.map((_, index) => {
    const texts = table.rows.map(row => textOf(row[index] ?? ''));
    return texts.every(text => NUMBER.test(text)) && texts.some(text => text !== '');
  });
  return (
    <>
      {field}
      <Limited items={items} step={20}>
        {visible => (
          <div class="nbfn-Scroll">
            <table class={`nbfn-Table ${table.compares ? 'nbfn-mod-sides' : ''}`}>
              <thead>
                <tr>
                  {table.header.map((name, index) => (
                    <th
                      key={name}
                      class={numbers[index] ? 'nbfn-mod-number' : undefined}
                      scope="col"
                    >
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {visible.map((row, index) => (
                  <Row
                    key={index}
                    row={row}
                    numbers={numbers}
                    compares={table.compares}
                  />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Limited>
      {left > 0 && (
        <p class="nbfn-Empty">
          {trans.__(
            'The first %1 are here; and %2 more.',
            integer(table.rows.length),
            integer(left)
          )}
        </p>
      )}
    </>
  );
}

function Row({
  row,
  numbers,
  compares
}: {
  row: readonly (string | Phrase)[];
  numbers: readonly boolean[];
  compares: boolean;
}): VNode {
  const differs = compares && row.at(-2) !== row.at(-1);
  const classOf = (cell: string | Phrase, index: number): string | undefined => {
    const isLong = !compares && LONG.test(textOf(cell));
    const width = numbers[index] ? 'nbfn-mod-number' : isLong ? 'nbfn-mod-long' : '';
    const side = differs ? sideOf(index - row.length, cell) : '';
    return [width, side].filter(Boolean).join(' ') || undefined;
  };
  return (
    <tr>
      {row.map((cell, index) => (
        <td key={index} class={classOf(cell, index)}>
          <Words words={cell} />
        </td>
      ))}
    </tr>
  );
}

/** The last two columns are what was, and what is; an empty one has nothing to mark. */
function sideOf(fromEnd: number, cell: string | Phrase): string | undefined {
  if (fromEnd < -2 || cell === '') {
    return undefined;
  }
  return fromEnd === -2 ? 'nbfn-mod-before' : 'nbfn-mod-after';
}

/** Words; those that lead to code are a remedy, and those that lead to a place a link. */
function Words({ words }: { words: string | Phrase }): VNode {
  if (typeof words === 'string') {
    return <Sentence text={words} />;
  }
  const { text, code, cell, page, verdict } = words;
  if (verdict) {
    return (
      <span class="nbfn-Verdict">
        <VerdictIcon verdict={verdict} />
        <Sentence text={text} />
      </span>
    );
  }
  if (code) {
    return <RemedyButton remedy={{ sentence: text, code }} cellId={cell?.id} />;
  }
  if (page) {
    return (
      <PageLink page={page}>
        <Sentence text={text} />
      </PageLink>
    );
  }
  return cell?.id || cell?.path ? (
    <CellReference cell={cell} />
  ) : (
    <Sentence text={text} />
  );
}

function textOf(words: string | Phrase): string {
  return typeof words === 'string' ? words : words.text;
}
