import { generateKeyPairSync } from 'node:crypto';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { createGcpDriver } from '@mcm/provider-gcp';
import type { GoldenSet, Outcome } from '../../common/set.ts';
import { createCaller } from '../caller.ts';
import { expectationOf } from '../expected.ts';
import { callsOf, type RecordedCall, type RecordedCase } from '../recording.ts';
import { type PlayCase, runCases, verified } from '../run-set.ts';
import { ScriptedCloud } from '../scripted.ts';
import { differenceOf } from './compare.ts';
import { RULES } from './differences.ts';

const SUBJECT_TOKEN = 'fake-subject-token\n';
const KEY_PLACE = '{{rsa-private-key}}';

export const gcpDriver: GoldenSet = {
  name: 'drivers/gcp',
  async *run(dir: string): AsyncIterable<Outcome> {
    yield* runCases(dir, 'gcp', playCase);
  },
};

let knownKey: string | undefined;

/** Returns a private key as a JSON string without quotes. */
function madeUpKey(): string {
  const format = {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  } as const;
  knownKey ??= JSON.stringify(generateKeyPairSync('rsa', { modulusLength: 2048, ...format }).privateKey).slice(1, -1);
  return knownKey;
}

const withKey = (recorded: RecordedCase, key: string): RecordedCase => {
  const entries = Object.entries(recorded.secret ?? {}).map(([name, value]) => [
    name,
    value.replaceAll(KEY_PLACE, key),
  ]);
  return recorded.secret ? { ...recorded, secret: Object.fromEntries(entries) } : recorded;
};

/** @returns the first difference; undefined without a difference */
export const playCase: PlayCase = async (given, watch) => {
  const recorded = withKey(given, madeUpKey());
  const clock = new VirtualClock({ quietTurns: 4 });
  const start = clock.now().getTime() / 1_000;
  const cloud = new ScriptedCloud(recorded.cloud);
  const tokens = recorded.recordsToken === true;
  const driver = createGcpDriver({
    clock,
    random: seededRandom(1),
    connect: cloud.connect,
    readFile: async () => SUBJECT_TOKEN,
    authorize: tokens ? undefined : async () => undefined,
  });
  const stop = new AbortController();
  const call = createCaller({ driver, recorded, provider: 'GCP', clock, stop: stop.signal });
  for (const [index, step] of callsOf(recorded).entries()) {
    const from = cloud.seen.length;
    const reported = await call(step);
    const seen = cloud.seen.slice(from);
    const expect = (each: RecordedCall) => expectationOf(each, RULES, { recorded, step, index, provider: 'gcp' });
    const verify = (each: RecordedCall) => differenceOf(expect(each).expected, reported, seen, tokens, start);
    const difference = verified({ recorded, step, expect, verify }, watch);
    if (difference !== undefined) return difference;
  }
  return undefined;
};
