import { generateKeyPairSync } from 'node:crypto';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { createGcpDriver } from '@mcm/provider-gcp';
import type { GoldenSet, Outcome } from '../../set.ts';
import { createCaller } from '../caller.ts';
import { callsOf, isStorable, type RecordedCase, readRecordings } from '../recording.ts';
import { ScriptedCloud } from '../scripted.ts';
import { differenceOf } from './compare.ts';
import { deliberateDifference } from './differences.ts';

/** The workload's token in the recordings. */
const SUBJECT_TOKEN = 'fake-subject-token\n';
const KEY_PLACE = '{{rsa-private-key}}';

/** What the original's GCP driver sent and answered, case by case. */
export const gcpDriver: GoldenSet = {
  name: 'drivers/gcp',
  async *run(dir: string): AsyncIterable<Outcome> {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const key = JSON.stringify(privateKey).slice(1, -1);
    for (const { cases } of await readRecordings(dir, 'gcp'))
      for (const each of cases) {
        const failure = await play(withKey(each, key));
        yield { name: each.name, ...(failure === undefined ? {} : { failure }) };
      }
  },
};

const withKey = (recorded: RecordedCase, key: string): RecordedCase => {
  const entries = Object.entries(recorded.secret ?? {}).map(([name, value]) => [
    name,
    value.replaceAll(KEY_PLACE, key),
  ]);
  return recorded.secret ? { ...recorded, secret: Object.fromEntries(entries) } : recorded;
};

async function play(recorded: RecordedCase): Promise<string | undefined> {
  if (recorded.providerSpecRaw !== undefined && !isStorable(recorded.providerSpecRaw)) return undefined;
  const clock = new VirtualClock({ quietTurns: 4 });
  const start = clock.now().getTime() / 1_000;
  const cloud = new ScriptedCloud(recorded.cloud);
  const tokens = recorded.recordsToken === true;
  const driver = createGcpDriver({
    clock,
    random: seededRandom(1),
    connect: cloud.connect,
    readFile: async () => SUBJECT_TOKEN,
    ...(tokens ? {} : { authorize: async () => undefined }),
  });
  const stop = new AbortController();
  const call = createCaller({ driver, recorded, provider: 'GCP', clock, stop: stop.signal });
  for (const step of callsOf(recorded)) {
    const from = cloud.seen.length;
    const told = await call(step);
    const difference = differenceOf(step, told, cloud.seen.slice(from), tokens, start);
    if (difference === undefined || deliberateDifference({ recorded, told }) !== undefined) continue;
    return `${step.method} (${recorded.title}): ${difference}`;
  }
  return undefined;
}
