import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { driverReference, type JsonSchema } from '@mcm/core';
import { expect, test } from 'vitest';
import { PROVIDERS } from './provider-reference.ts';
import { ROOT, sourcesUnder } from './sources.ts';

/** Returns all fields of a schema at any depth with their descriptions: `disks[].labels`. */
function fieldsOf(schema: JsonSchema, path = ''): { readonly path: string; readonly description: string }[] {
  const below = (field: JsonSchema, at: string) => [
    ...fieldsOf(field, at),
    ...(field.items ? fieldsOf(field.items, `${at}[]`) : []),
    ...(typeof field.additionalProperties === 'object' ? fieldsOf(field.additionalProperties, `${at}.<key>`) : []),
  ];
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [{ path: at, description: field.description ?? '' }, ...below(field, at)];
  });
}

test.each(PROVIDERS.map((each) => [each.name, each] as const))(
  'every field of the provider spec and the Secret of %s has a description',
  (_name, provider) => {
    const { providerSpec, secret } = driverReference(provider);
    const fields = [...fieldsOf(providerSpec), ...fieldsOf(secret)];
    expect(fields.length).toBeGreaterThan(15);
    expect(fields.filter(({ description }) => description.length < 5).map(({ path }) => path)).toEqual([]);
  },
);

test('the page of the AWS driver lists the permission for each of its calls', () => {
  const page = readFileSync(join(ROOT, 'providers/aws/README.md'), 'utf8');
  const calls = sourcesUnder('providers/aws').flatMap(({ path, text }) =>
    [...text.matchAll(/new (?:this\.#sdk\.)?([A-Z]\w+)Command\(/g)].map(([, name = '']) => {
      const service = path.includes('/notices/') ? 'sqs' : name.startsWith('Assume') ? 'sts' : 'ec2';
      return `${service}:${name}`;
    }),
  );
  expect(calls).toHaveLength(16);
  expect(calls.filter((call) => !page.includes(`\`${call}\``))).toEqual([]);
});
