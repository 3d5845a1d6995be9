import type { VNode } from 'preact';
import type { Phrase } from '../../protocol';
import { trans } from '../../words';
import { CellReference } from './cellReference';
import { VerdictIcon } from './icons';
import { RemedyButton } from './remedyButton';
import { LongSentence, Sentence } from './texts';

/** Text: a remedy button if it has code, a link if it has a place. */
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

/** A link to a page of the documentation, in a new tab; nothing if the address is not https. */
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
