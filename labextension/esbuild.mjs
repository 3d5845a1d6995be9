// Builds the widget bundle into the Python package, where the widget classes read it.
import { build, context } from 'esbuild';

/** @type {import('esbuild').BuildOptions} */
const options = {
  entryPoints: { widget: 'src/widget.ts' },
  outdir: '../nbfn/views/static',
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning'
};

// What is drawn: a bundle of its own, which the kernel sends when the first picture is looked at.
const pictures = { ...options, entryPoints: { pictures: 'src/pictures/index.ts' } };

const style = { ...options, entryPoints: { widget: 'style/base.css' } };

if (process.argv.includes('--watch')) {
  for (const one of [options, pictures, style]) {
    await (await context(one)).watch();
  }
} else {
  await Promise.all([options, pictures, style].map(one => build(one)));
}
