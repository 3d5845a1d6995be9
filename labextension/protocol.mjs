// Generates src/protocol.ts from protocol.schema.json, which Python prints (python -m nbfn.protocol).
// With --check it writes nothing, and fails if the file is not what it would write.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { compile } from 'json-schema-to-typescript';
import { format, resolveConfig } from 'prettier';

const target = fileURLToPath(new URL('src/protocol.ts', import.meta.url));
const schema = JSON.parse(
  await readFile(new URL('protocol.schema.json', import.meta.url), 'utf8')
);
const version = schema.$defs.SnapshotMessage.properties.protocol.default;

for (const record of [schema, ...Object.values(schema.$defs)]) {
  const properties = record.properties ?? {};
  for (const [name, property] of Object.entries(properties)) {
    // A title on a property would become an alias of string or number.
    delete property.title;
    delete property.default;
    // Messages are told apart by these, so they are always sent, defaults or not.
    const tags = name === 'type' || name === 'protocol';
    if (tags && !record.required?.includes(name)) {
      record.required = [...(record.required ?? []), name];
    }
  }
}

// What each total means, which the views say on hover.
const meanings = Object.entries(schema.$defs.Totals.properties).map(
  ([name, { description }]) => `  ${name}: ${JSON.stringify(description)}`
);

const banner = `/**
 * The messages between the kernel and the front end.
 *
 * Generated from protocol.schema.json by \`npm run protocol\`: do not edit.
 */`;
const types = await compile(schema, 'Messages', {
  additionalProperties: false,
  bannerComment: banner,
  format: false
});
const text = await format(
  `${types}
/** Version of the protocol that these types describe. */
export const PROTOCOL = ${version};

/** What each of the totals means. */
export const MEANINGS: Readonly<Record<keyof Totals, string>> = {
${meanings.join(',\n')}
};
`,
  { ...(await resolveConfig(target)), filepath: target }
);

if (!process.argv.includes('--check')) {
  await writeFile(target, text);
} else if ((await readFile(target, 'utf8')) !== text) {
  process.stderr.write(
    'src/protocol.ts is not what protocol.schema.json gives: run npm run protocol\n'
  );
  process.exitCode = 1;
}
