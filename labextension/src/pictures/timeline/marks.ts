import type { Parts } from '../spending/runs';
import { sum } from '../spending/runs';
import type { Block } from './blocks';
import type { CauseCode } from './causes';
import type { Span, ToPixels } from './timeAxis';

/** A mark: the blocks that are drawn on the same pixels. */
export interface Mark extends Span {
  readonly x: number;
  readonly width: number;
  readonly blocks: readonly Block[];
}

/** Minimum width of a mark in pixels. */
const NARROWEST = 2;

/**
 * The marks of blocks that are in order of time, within a width in pixels.
 *
 * Invisible blocks are omitted, so that the cost depends on the visible ones.
 */
export function marksOf(
  blocks: readonly Block[],
  toPixels: ToPixels,
  width: number
): Mark[] {
  const marks: { x: number; right: number; to: number; blocks: Block[] }[] = [];
  for (const block of blocks) {
    const x = toPixels(block.from);
    const right = Math.max(toPixels(block.to), x + NARROWEST);
    if (right < 0 || x > width) {
      continue;
    }
    const last = marks.at(-1);
    // Two distinguishable blocks stay separate, even if they touch.
    const isClose =
      last && (x < last.x + NARROWEST || (x < last.right && right - x <= NARROWEST));
    if (isClose) {
      last.blocks.push(block);
      last.right = Math.max(last.right, right);
      last.to = Math.max(last.to, block.to);
    } else {
      marks.push({ x, right, to: block.to, blocks: [block] });
    }
  }
  return marks.map(({ x, right, to, blocks: own }) => {
    const left = Math.max(x, -1);
    return {
      from: own[0]?.from ?? 0,
      to,
      x: left,
      width: Math.min(right, width + 1) - left,
      blocks: own
    };
  });
}

/** How the seconds of a mark's cells were spent. */
export function partsOfMark({ blocks }: Mark): Parts {
  const part = (name: keyof Parts): number =>
    sum(blocks, block => block.parts?.[name] ?? 0);
  return { tracing: part('tracing'), graph: part('graph'), python: part('python') };
}

/** The cause that has cost most among a mark's retraces, and how many retraces there are. */
export function causeOfMark({
  blocks
}: Mark): { code: CauseCode; number: number } | null {
  const retraces = blocks.filter(({ cause }) => cause);
  const code = longestOf(retraces)?.cause;
  return code ? { code, number: retraces.length } : null;
}

/** The block that took longest. */
export function longestOf(blocks: readonly Block[]): Block | undefined {
  return blocks.reduce<Block | undefined>(
    (most, block) => (most && most.seconds >= block.seconds ? most : block),
    undefined
  );
}
