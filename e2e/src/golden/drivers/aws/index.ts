import { Ec2Endpoint, type Ec2EndpointOptions } from '@mcm/cloud-emulators';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { createAwsDriver } from '@mcm/provider-aws';
import { warmUp } from '../../../clouds/warm-up-aws.ts';
import type { GoldenSet, Outcome } from '../../common/set.ts';
import { createCaller } from '../caller.ts';
import { expectationOf } from '../expected.ts';
import { callsOf, type RecordedCall, type RecordedCase } from '../recording.ts';
import { type PlayCase, runCases, verified, type Watch } from '../run-set.ts';
import { differenceOf } from './compare.ts';
import { RULES } from './differences.ts';

const ENDPOINT = 'http://127.0.0.1:5000';

const BASE = {
  AWS_ENDPOINT_URL: ENDPOINT,
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/nonexistent/config',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
};

/** The requests and results of the original AWS driver, for each case. */
export const awsDriver: GoldenSet = {
  name: 'drivers/aws',
  async *run(dir: string): AsyncIterable<Outcome> {
    await inEnvironment(BASE, () => warmUp(BASE));
    yield* runCases(dir, 'aws', playCase);
  },
};

/** @returns the first difference; undefined without a difference */
export const playCase: PlayCase = (recorded, watch) => {
  const environment = { ...BASE, ...recorded.env };
  return inEnvironment(environment, () => playIn(environment, recorded, watch));
};

/** Sets the AWS variables of the process during `work`, because the SDK reads them. */
async function inEnvironment<T>(variables: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  const before = { ...process.env };
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  Object.assign(process.env, variables);
  try {
    return await work();
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

async function playIn(
  variables: Record<string, string>,
  recorded: RecordedCase,
  watch: Watch | undefined,
): Promise<string | undefined> {
  const clock = new VirtualClock({ quietTurns: 8 });
  const caller = new AbortController();
  if (recorded.callerCancelled) caller.abort(new Error('cancelled'));
  const cloud = new Ec2Endpoint({
    ...(recorded.cloud as Partial<Ec2EndpointOptions>),
    clock,
    dnsRegion: 'eu-north-1',
    cancelCaller: () => caller.abort(new Error('cancelled')),
  });
  const driver = createAwsDriver({
    clock,
    random: seededRandom(1),
    connect: () => cloud.transport,
    environment: {
      variables,
      readFile: async (path) => recorded.files?.[/^\$\{token-file:(.*)\}$/.exec(path)?.[1] ?? ''],
    },
    visibilityBudgetMs: recorded.visibilityBudgetMs,
  });
  const call = createCaller({ driver, recorded, provider: 'AWS', clock, stop: caller.signal });
  for (const [index, step] of callsOf(recorded).entries()) {
    const from = cloud.seen.length;
    const reported = await call(step);
    const seen = cloud.seen.slice(from);
    const expect = (each: RecordedCall) => expectationOf(each, RULES, { recorded, step, provider: 'aws', index });
    const verify = (each: RecordedCall) => differenceOf(recorded, expect(each).expected, reported, seen);
    const difference = verified({ recorded, step, expect, verify }, watch);
    if (difference !== undefined) return difference;
  }
  return undefined;
}
