import { seededRandom, VirtualClock } from '@mcm/kube';
import { createAzureDriver } from '@mcm/provider-azure';
import type { GoldenSet, Outcome } from '../../set.ts';
import { createCaller } from '../caller.ts';
import { callsOf, isStorable, type RecordedCase, readRecordings } from '../recording.ts';
import { ScriptedCloud } from '../scripted.ts';
import { differenceOf } from './compare.ts';
import { deliberateDifference } from './differences.ts';

/** A throw-away key as the recordings write it. */
const KEY = '<generated: ssh-rsa, 4096 bits, no comment, no newline>';
const FILES: Readonly<Record<string, string>> = { 'golden-token-file': 'fake-federated-token\n' };

/** What the original's Azure driver sent and answered, case by case. */
export const azureDriver: GoldenSet = {
  name: 'drivers/azure',
  async *run(dir: string): AsyncIterable<Outcome> {
    for (const { cases } of await readRecordings(dir, 'azure'))
      for (const each of cases) {
        const failure = await play(each);
        yield { name: each.name, ...(failure === undefined ? {} : { failure }) };
      }
  },
};

async function play(recorded: RecordedCase): Promise<string | undefined> {
  if (recorded.providerSpecRaw !== undefined && !isStorable(recorded.providerSpecRaw)) return undefined;
  const clock = new VirtualClock({ quietTurns: 4 });
  const cloud = new ScriptedCloud(recorded.cloud, { error: { code: 'ResourceNotFound', message: 'not found' } });
  const scopes = new Set<string>();
  const driver = createAzureDriver({
    clock,
    random: seededRandom(1),
    connect: cloud.connect,
    readFile: async (path) => FILES[path],
    throwAwayKey: async () => KEY,
    ...(recorded.recordsToken
      ? {}
      : {
          authorize: async (scope: string) => {
            scopes.add(scope);
            return undefined;
          },
        }),
  });
  const seconds = recorded.contextDeadlineSeconds;
  const limited = typeof seconds === 'number' ? { ...recorded, callerDeadlineMs: seconds * 1_000 } : recorded;
  const call = createCaller({
    driver,
    recorded: limited,
    provider: 'Azure',
    clock,
    stop: new AbortController().signal,
  });
  for (const step of callsOf(recorded)) {
    const told = await call(step);
    const host = cloud.seen.find((each) => each.host !== recorded.host);
    const wrongHost = recorded.host && host ? `asked ${host.host}, wanted ${String(recorded.host)}` : undefined;
    const scope = recorded.tokenScope;
    const wrongScope =
      scope && scopes.size > 0 && !scopes.has(String(scope))
        ? `scope ${[...scopes]}, wanted ${String(scope)}`
        : undefined;
    const difference = differenceOf(step, told, cloud.seen, recorded.secret ?? {}) ?? wrongHost ?? wrongScope;
    if (difference === undefined || deliberateDifference({ recorded, step, told, seen: cloud.seen }) !== undefined)
      continue;
    return `${step.method} (${recorded.title}): ${difference}`;
  }
  return undefined;
}
