import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findSets } from '../sets.ts';
import { caseOf } from './testing.ts';

const CLOUDS = ['aws', 'azure', 'gcp'] as const;

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'recordings-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const write = (cloud: string, file: string, text: string): void => {
  const folder = join(dir, 'golden', 'drivers', cloud);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), text);
};

async function outcomes(cloud: string): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const set of findSets([`drivers/${cloud}`]))
    for await (const { name, failure = 'passed' } of set.run(dir)) found[name.replace(`${dir}/`, '')] = failure;
  return found;
}

const GOOD = { aws: 'delete/pid-no-slash', azure: 'validation/013', gcp: 'validation/014' } as const;

test.each(CLOUDS)(
  'a case of %s that cannot be replayed counts as failed, and the other cases are replayed',
  async (cloud) => {
    const good = await caseOf(cloud, GOOD[cloud]);
    const { providerSpec: _, ...without } = good;
    const refused = { requests: [], result: { response: null, errorCode: 'Internal', textIs: 'decoder' } };
    const cases = [
      { name: 'no-title' },
      'no case at all',
      { ...good, name: 'no-call', method: undefined, steps: undefined },
      { ...good, name: 'unknown-method', method: 'MigrateMachine', ...refused },
      { ...without, name: 'no-spec', method: 'DeleteMachine', ...refused },
      { ...without, name: 'no-json', providerSpecRaw: '{', ...refused },
      {
        ...without,
        name: 'no-json-taken',
        providerSpecRaw: '{',
        requests: [],
        result: { response: {}, errorCode: null },
      },
      { ...good, name: 'odd-cloud', method: 'ListMachines', cloud: 7 },
      good,
    ];
    write(cloud, 'a.json', JSON.stringify({ format: 1, cases }));
    write(cloud, 'b.json', '{');
    write(cloud, 'c.json', JSON.stringify({ format: 2, cases: [] }));
    const found = await outcomes(cloud);
    expect(found[good.name]).toBe('passed');
    expect(found['no-json']).toBe('passed');
    expect(found['no-title']).toMatch(/^not a case of format 1/);
    expect(found['a.json case 2']).toMatch(/^not a case of format 1/);
    expect(found['no-call']).toMatch(/neither steps nor method/);
    expect(found['unknown-method']).toMatch(/an unknown driver method/);
    expect(found['no-spec']).not.toMatch(/^cannot replay this recorded case/);
    expect(found['no-json-taken']).toMatch(/^the original accepted a provider spec in another format than JSON/);
    expect(found['golden/drivers/'.concat(cloud, '/b.json')]).toMatch(/^cannot be read/);
    expect(found['golden/drivers/'.concat(cloud, '/c.json')]).toMatch(/^not a recording of format 1/);
    expect(Object.keys(found)).toHaveLength(cases.length + 2);
  },
);
