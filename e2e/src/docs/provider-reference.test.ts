import { driverReference, type JsonSchema } from '@mcm/core';
import { expect, test } from 'vitest';
import { PROVIDERS } from './provider-reference.ts';

/** Every field below a schema with its description, at any depth: `disks[].labels`. */
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
  'every field of the provider spec and the Secret of %s says what it means',
  (_name, provider) => {
    const { providerSpec, secret } = driverReference(provider);
    const fields = [...fieldsOf(providerSpec), ...fieldsOf(secret)];
    expect(fields.length).toBeGreaterThan(15);
    expect(fields.filter(({ description }) => description.length < 5).map(({ path }) => path)).toEqual([]);
  },
);
