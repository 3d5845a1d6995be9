import type { VNode } from 'preact';
import type { Phrase } from '../../protocol';
import { trans } from '../../words';
import { CellReference } from './cellReference';
import { VerdictIcon } from './icons';
import { RemedyButton } from './remedyButton';
import { LongSentence, Sentence } from './texts';

/** Words; those that lead to code are a remedy, and those that lead to a place a link. */
export function Words({ words }: { words: string | Phrase }): VNode {
  if (typeof words === 'string') {
    return <LongSentence text={words} />;
  }
  const { text, code, cell, page, verdict, hint } = words;
  if (code) {
    return <RemedyButton remedy={{ sentence: text, code }} cellId={cell?.id} />;
  }
  if (cell?.id || cell?.path) {
    return <CellReference cell={cell} text={text} />;
  }
  return (
    <>
      <VerdictIcon verdict={verdict} />
      {hint ? (
        <span title={hint}>
          <Sentence text={text} />
        </span>
      ) : (
        <LongSentence text={text} />
      )}
      {page && <PageLink page={page} />}
    </>
  );
}

/** Plain text without links. */
export function textOf(words: string | Phrase): string {
  return typeof words === 'string' ? words : words.text;
}

/** A link to a page of the documentation, in a tab of its own; nothing if it is no page. */
function PageLink({ page }: { page: string }): VNode | null {
  const title = trans.__('How this comes about');
  return page.startsWith('https:') ? (
    <>
      {' '}
      <a
        class="nbfn-Cause-page"
        href={page}
        target="_blank"
        rel="noopener"
        title={title}
        aria-label={title}
      >
        ?
      </a>
    </>
  ) : null;
}
