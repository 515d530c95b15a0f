import { driverReference } from '@mcm/core';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inAwsEnvironment } from '../aws-environment.ts';
import type { FleetProvider } from '../fleet.ts';
import { aws, azure, gcp } from '../providers.ts';
import { another, fieldOf, fieldsOf, leavesOf, put } from './leaves.ts';
import { type RecordedRequests, requestsFor } from './recorded-requests.ts';
import { AWS, AZURE, type FieldSpecs, GCP } from './specs.ts';

/**
 * Every field of every provider spec changes the requests to the cloud, unless its description says that the field has
 * no effect.
 */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
  delete process.env.AWS_ENDPOINT_URL;
});
afterAll(() => back());

/** Matches descriptions of fields without effect. */
const IDLE = /^mcm accepts (this|the) \w+ for compatibility\b/;

function describeFields<Spec, Credentials>(
  open: () => FleetProvider<Spec, Credentials>,
  { specs, others, idle }: FieldSpecs,
): void {
  const context = {
    clock: new VirtualClock(),
    random: seededRandom(1),
    connect: () => () => Promise.reject(new Error()),
  };
  const schema = driverReference(open().driver(context)).providerSpec;
  const all = specs.flatMap((spec) =>
    leavesOf(spec).map((leaf) => ({ spec, ...leaf, field: fieldOf(leaf.path, schema) })),
  );
  const about = new Map(fieldsOf(schema).map(({ field, about: words }) => [field, words]));

  test('the samples contain all existing fields and no others', () => {
    expect(new Set(all.map(({ field }) => field))).toEqual(new Set(about.keys()));
  });

  const asked = new Map<object, Promise<RecordedRequests>>();
  const requestsForUnchanged = (spec: object): Promise<RecordedRequests> => {
    const known = asked.get(spec) ?? requestsFor(open(), spec);
    asked.set(spec, known);
    return known;
  };

  /**
   * Resolves with the requests for two different values of a field. The values are set in the first sample that
   * contains the field.
   */
  const beforeAndAfter = async (field: string): Promise<readonly [before: string, after: string]> => {
    const refusals: string[] = [];
    for (const { spec, path, value } of all.filter((each) => each.field === field)) {
      const before = await requestsForUnchanged(spec);
      expect(before.failed).toBeUndefined();
      const other = others[field] === undefined ? another(value) : others[field];
      const after = await requestsFor(open(), put(spec, path, other) as object);
      if (after.requests !== '') return [before.requests, after.requests];
      refusals.push(after.failed ?? '');
    }
    return expect.fail(refusals.join('\n'));
  };

  test.each([...about])('%s', async (field, words) => {
    const [before, after] = await beforeAndAfter(field);
    if (IDLE.test(words) || idle.includes(field)) expect(after).toBe(before);
    else expect(after).not.toBe(before);
  });
}

describe('aws', () => describeFields(aws, AWS));
describe('azure', () => describeFields(azure, AZURE));
describe('gcp', () => describeFields(gcp, GCP));
