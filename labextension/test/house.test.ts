import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const MAX_FILES = 12;

/** The rooms from the bottom up: each may import itself and those before it. */
const ROOMS = [
  'protocol',
  'words',
  'feed',
  'views/parts',
  'views/tables',
  'pictures/diagram',
  'pictures/graph/model',
  'pictures/graph/canvas',
  'pictures/graph',
  'pictures/spending',
  'pictures/timeline',
  'pictures',
  'views/outlines',
  'views/lists',
  'views',
  'lab/kernels',
  'lab',
  'lab/cells',
  'lab/commands',
  'lab/panel',
  'widget',
  'index'
];

/** Packages of the hosts, which the views and the feed do not know. */
const HOSTS = /^@(jupyterlab|jupyter|lumino|anywidget)\//;

interface SourceFile {
  /** The room it stands in: its folder, or its own name at the top. */
  room: string;
  /** The source files that it imports: at once, late, or for their types only. */
  files: string[];
  packages: string[];
}

const ROOT = `${ts.sys.getCurrentDirectory()}/`;
const SOURCES = `${ROOT}src/`;
const sources = new Map(
  filesIn(SOURCES).map(path => [path.slice(SOURCES.length), readSource(path)])
);

function filesIn(folder: string): string[] {
  return ts.sys.readDirectory(folder, ['.ts', '.tsx']);
}

function readSource(path: string): SourceFile {
  const { importedFiles } = ts.preProcessFile(ts.sys.readFile(path) ?? '');
  const names = importedFiles.map(({ fileName }) => fileName);
  const files = names
    .filter(name => name.startsWith('.'))
    .map(name => {
      const options = { moduleResolution: ts.ModuleResolutionKind.Bundler };
      const found = ts.resolveModuleName(name, path, options, ts.sys).resolvedModule;
      if (!found) throw new Error(`${path} imports ${name}, which is not there`);
      return found.resolvedFileName.slice(SOURCES.length);
    });
  const own = path.slice(SOURCES.length);
  return {
    room: own.includes('/') ? folderOf(own) : own.replace(/\..*/, ''),
    files,
    packages: names.filter(name => !name.startsWith('.'))
  };
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function importsOf(name: string): readonly string[] {
  return sources.get(name)?.files ?? [];
}

/** What a file imports, and what those import. */
function reachedFrom(name: string, reached = new Set<string>()): Set<string> {
  for (const target of importsOf(name)) {
    if (!reached.has(target)) {
      reached.add(target);
      reachedFrom(target, reached);
    }
  }
  return reached;
}

describe('the house', () => {
  it('has no crowded folder', () => {
    const counts = new Map<string, number>();
    for (const path of [...filesIn(SOURCES), ...filesIn(`${ROOT}test`)]) {
      if (!path.endsWith('/index.ts')) {
        const folder = folderOf(path.slice(ROOT.length));
        counts.set(folder, (counts.get(folder) ?? 0) + 1);
      }
    }
    expect([...counts.keys()]).toContain('src/views/parts');
    expect([...counts].filter(([, files]) => files > MAX_FILES)).toEqual([]);
  });

  it('has no circle of imports', () => {
    // The entry points need every file: what is not reached is dead, or its import not seen.
    const entries = ['index.ts', 'widget.ts'];
    const needed = new Set(entries.flatMap(name => [name, ...reachedFrom(name)]));
    expect([...needed].sort()).toEqual([...sources.keys()].sort());
    expect([...sources.keys()].filter(name => reachedFrom(name).has(name))).toEqual([]);
  });

  it('imports downwards only', () => {
    const rooms = [...sources.values()].map(({ room }) => room);
    expect(new Set(rooms)).toEqual(new Set(ROOMS));
    const rank = (name: string): number => ROOMS.indexOf(sources.get(name)?.room ?? '');
    const upward = [...sources.keys()].flatMap(name =>
      importsOf(name)
        .filter(target => rank(target) > rank(name))
        .map(target => `${name} imports ${target}`)
    );
    expect(upward).toEqual([]);
  });

  it('has views and a feed that know no host', () => {
    const hostsOf = (name: string): string[] =>
      (sources.get(name)?.packages ?? [])
        .filter(each => HOSTS.test(each))
        .map(each => `${name} imports ${each}`);
    expect(hostsOf('widget.ts')).toEqual(['widget.ts imports @anywidget/types']);
    const neutral = [...sources.keys()].filter(name => /^(views|feed)\//.test(name));
    const reached = new Set(neutral.flatMap(name => [name, ...reachedFrom(name)]));
    expect([...reached].flatMap(hostsOf)).toEqual([]);
  });
});
