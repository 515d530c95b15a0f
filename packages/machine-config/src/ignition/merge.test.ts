import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeIgnition } from './merge.ts';
import { emptyIgnition, type IgnitionConfig } from './versions/schema.ts';

const path = fc.constantFrom('/a', '/b', '/c', '/d/e', '/d/f');
const source = fc.constantFrom('data:,1', 'data:,2', 'data:,3');
const header = fc.record(
  { name: fc.constantFrom('X', 'Y'), value: fc.constantFrom('1', '2') },
  { requiredKeys: ['name'] },
);
const contents = fc.record(
  { source, httpHeaders: fc.uniqueArray(header, { maxLength: 2, selector: ({ name }) => name }) },
  { requiredKeys: [] },
);
const file = fc.record({ path, mode: fc.constantFrom(0o600, 0o644), contents }, { requiredKeys: ['path'] });

/** Generates configs. */
const config = fc
  .record({
    files: fc.array(file, { maxLength: 5 }),
    directories: fc.array(fc.record({ path }), { maxLength: 2 }),
    units: fc.array(fc.record({ name: fc.constantFrom('a.service', 'b.service'), contents: source }), { maxLength: 2 }),
  })
  .map(
    ({ files, directories, units }) =>
      ({ ...emptyIgnition(), storage: { files, directories }, systemd: { units } }) as IgnitionConfig,
  );

test('a merge of many configs equals the result of the single merges', () => {
  fc.assert(
    fc.property(fc.array(config, { minLength: 2, maxLength: 6 }), (configs) => {
      const [first = emptyIgnition(), ...rest] = configs;
      const before = structuredClone(configs);
      const chained = rest.reduce(mergeIgnition, first);
      // Copies have no cached indexes, so the merge compares the lists of the copies entry by entry.
      const alone = rest.reduce((parent, child) => mergeIgnition(structuredClone(parent), child), first);
      expect(chained).toEqual(alone);
      expect(configs).toEqual(before);
    }),
  );
});

test('a parent of an earlier merge can be merged again', () => {
  fc.assert(
    fc.property(config, config, config, config, (first, second, one, other) => {
      const parent = mergeIgnition(first, second);
      const results = [mergeIgnition(parent, one), mergeIgnition(parent, other), mergeIgnition(parent, one)];
      const fresh = () => structuredClone(parent);
      expect(results).toEqual([
        mergeIgnition(fresh(), one),
        mergeIgnition(fresh(), other),
        mergeIgnition(fresh(), one),
      ]);
    }),
  );
});

test('files, directories and links of the last config replace others with the same path, and headers without a value are removed', () => {
  const of = (storage: IgnitionConfig['storage']): IgnitionConfig => ({
    ...emptyIgnition(),
    ...(storage && { storage }),
  });
  const parent = of({ files: [{ path: '/a' }, { path: '/b' }] });
  const moved = mergeIgnition(parent, of({ directories: [{ path: '/a' }], files: [{ path: '/c' }] }));
  expect(moved.storage).toEqual({ directories: [{ path: '/a' }], files: [{ path: '/b' }, { path: '/c' }] });
  const headers = (...httpHeaders: { name: string; value?: string }[]) =>
    of({ files: [{ path: '/a', contents: { httpHeaders } }] });
  const left = mergeIgnition(headers({ name: 'X', value: '1' }, { name: 'Y', value: '1' }), headers({ name: 'X' }));
  expect(left.storage?.files).toEqual([{ path: '/a', contents: { httpHeaders: [{ name: 'Y', value: '1' }] } }]);
});
