import type { ComponentChildren, VNode } from 'preact';
import { useContext } from 'preact/hooks';
import type { Cause } from '../../protocol';
import { trans } from '../../words';
import { SurroundingsContext } from './presence';
import { seen, Sentence } from './texts';

/** A cause, and a link to the page on how such a one comes about. */
export function CauseText({ cause }: { cause: Cause }): VNode {
  const { documentation } = useContext(SurroundingsContext);
  const title = trans.__('How this comes about');
  return (
    <>
      <Difference cause={cause} />
      {documentation?.startsWith('https:') && (
        <>
          {' '}
          <PageLink
            page={`${documentation}/causes.html#${cause.code}`}
            class="nbfn-Cause-page"
            title={title}
          >
            ?
          </PageLink>
        </>
      )}
    </>
  );
}

/** A link to a page of the documentation, in a tab of its own; only words if it is no page. */
export function PageLink(props: {
  page: string;
  class?: string;
  title?: string;
  children: ComponentChildren;
}): VNode {
  const { page, title, children } = props;
  if (!page.startsWith('https:')) {
    return <>{children}</>;
  }
  return (
    <a
      class={props.class}
      href={page}
      target="_blank"
      rel="noopener"
      title={title}
      aria-label={title}
    >
      {children}
    </a>
  );
}

/** A cause: the argument and its old and new key where it has them, else its sentence. */
function Difference({ cause }: { cause: Cause }): VNode {
  const { path, old, new: now, sentence } = cause;
  if (path && old && now) {
    return (
      <span class="nbfn-Cause" title={sentence}>
        <code class="nbfn-Cause-path">{seen(path)}</code>{' '}
        <span class="nbfn-Cause-change">
          <code>{seen(old)}</code>
          <span class="nbfn-Cause-arrow" aria-label={trans.__('became')}>
            {' → '}
          </span>
          <code>{seen(now)}</code>
        </span>
      </span>
    );
  }
  return (
    <span class="nbfn-Cause">
      <Sentence text={sentence} />
    </span>
  );
}
