import type { VNode } from 'preact';
import type { PageTable } from '../../protocol';
import { integer } from '../parts/format';
import { Section } from '../parts/section';
import { Sentence } from '../parts/texts';
import { Code } from './code';
import { Rows } from './table';

/** Tables below each other, each collapsible. */
export function Tables({ tables }: { tables: readonly PageTable[] }): VNode {
  return (
    <>
      {keyed(tables).map(([key, table]) => (
        <Section
          key={key}
          class="nbfn-PageTable"
          title={<Sentence text={table.title} />}
          // The rows of a tree include its parts, so their number means nothing.
          note={table.kind === 'tree' ? undefined : integer(table.total)}
          open={table.open}
        >
          {() => <Drawn table={table} />}
        </Section>
      ))}
    </>
  );
}

/** Draws a table according to its kind. */
export function Drawn({ table }: { table: PageTable }): VNode {
  return table.kind === 'code' ? <Code table={table} /> : <Rows table={table} />;
}

/** Keys parts by their titles, so that open ones stay open when another is added before them. */
export function keyed<T extends { title: string }>(
  parts: readonly T[]
): readonly [string, T][] {
  const numbers = new Map<string, number>();
  return parts.map(part => {
    const number = (numbers.get(part.title) ?? 0) + 1;
    numbers.set(part.title, number);
    return [`${part.title} ${number}`, part];
  });
}
