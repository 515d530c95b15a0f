import { seededRandom, VirtualClock } from '@mcm/kube';
import { createAzureDriver, loadSdk } from '@mcm/provider-azure';
import type { GoldenSet, Outcome } from '../../common/set.ts';
import { createCaller } from '../caller.ts';
import { expectationOf } from '../expected.ts';
import { callsOf, type RecordedCall } from '../recording.ts';
import { type PlayCase, runCases, verified } from '../run-set.ts';
import { ScriptedCloud } from '../scripted.ts';
import { differenceOf } from './compare.ts';
import { RULES } from './differences.ts';

const KEY = '<generated: ssh-rsa, 4096 bits, no comment, no newline>';
const FILES: Readonly<Record<string, string>> = { 'golden-token-file': 'fake-federated-token\n' };

export const azureDriver: GoldenSet = {
  name: 'drivers/azure',
  async *run(dir: string): AsyncIterable<Outcome> {
    yield* runCases(dir, 'azure', playCase);
  },
};

/** @returns the first difference; undefined without a difference */
export const playCase: PlayCase = async (recorded, watch) => {
  // Loading the SDK takes real time, and the test uses a virtual clock, so the SDK is loaded first.
  await loadSdk();
  const clock = new VirtualClock({ quietTurns: 4 });
  const cloud = new ScriptedCloud(recorded.cloud, { error: { code: 'ResourceNotFound', message: 'not found' } });
  const scopes = new Set<string>();
  const driver = createAzureDriver({
    clock,
    random: seededRandom(1),
    connect: cloud.connect,
    readFile: async (path) => FILES[path],
    throwAwayKey: async () => KEY,
    authorize: recorded.recordsToken
      ? undefined
      : async (scope: string) => {
          scopes.add(scope);
          return undefined;
        },
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
  for (const [index, step] of callsOf(recorded).entries()) {
    const from = cloud.seen.length;
    const reported = await call(step);
    const seen = cloud.seen.slice(from);
    const host = seen.find((each) => each.host !== recorded.host);
    const wrongHost = recorded.host && host ? `asked ${host.host}, wanted ${String(recorded.host)}` : undefined;
    const scope = recorded.tokenScope;
    const wrongScope =
      scope && scopes.size > 0 && !scopes.has(String(scope))
        ? `scope ${[...scopes]}, wanted ${String(scope)}`
        : undefined;
    const expect = (each: RecordedCall) => expectationOf(each, RULES, { recorded, step, index, provider: 'azure' });
    const verify = (each: RecordedCall) =>
      differenceOf(expect(each).expected, reported, seen, recorded.secret ?? {}) ?? wrongHost ?? wrongScope;
    const difference = verified({ recorded, step, expect, verify }, watch);
    if (difference !== undefined) return difference;
  }
  return undefined;
};
