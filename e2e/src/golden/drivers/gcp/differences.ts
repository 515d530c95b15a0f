import { isRecord } from '@mcm/kube';
import {
  type Expected,
  type ExpectedRequest,
  failsWith,
  type Rule,
  type Situation,
  succeeds,
  withoutServices,
} from '../expected.ts';
import type { RecordedCase } from '../recording.ts';
import {
  endsOriginal,
  escaped,
  methodIsAbsent,
  noVolume,
  specIsKeptOtherwise,
  throttledIsUnavailable,
  tokenHostIsDown,
  upTo,
} from '../rules.ts';
import { firstReply } from '../scripted.ts';

const CLUSTER = 'kubernetes-io-cluster-';
const ROLE = 'kubernetes-io-role-';

interface RecordedSpec {
  readonly tags: readonly string[];
}
function specOf({ providerSpec }: RecordedCase): RecordedSpec {
  const { tags } = (providerSpec ?? {}) as { readonly tags?: unknown };
  const texts = Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === 'string') : [];
  return { tags: texts };
}

function callText({ recorded: { machine }, step: { method } }: Situation): string {
  if (method === 'ListMachines') return 'List machines failed';
  const what = { CreateMachine: 'Create machine', DeleteMachine: 'Delete machine' }[method] ?? 'Machine status';
  return `${what} "${machine?.name ?? ''}" failed`;
}

const isThrottling = ({ http }: NonNullable<Expected['result']['cloudError']>, text: string): boolean =>
  http === 429 || (http === 403 && /rate_?limit_?exceeded/i.test(text));

const isInsertion = ({ method, path }: ExpectedRequest): boolean => method === 'POST' && path.endsWith('/instances');

const look = (insertion: ExpectedRequest, { recorded }: Situation): ExpectedRequest => {
  const { body: _, ...rest } = insertion;
  return { ...rest, method: 'GET', path: `${insertion.path}/${recorded.machine?.name ?? ''}`, query: {} };
};

const quota: Rule = {
  row: 'a quota error at the insertion gets the code ResourceExhausted',
  expect: (expected, situation) => {
    const { errorCode, cloudError } = expected.result;
    const lacksType = cloudError?.message?.includes('does not exist in zone') === true;
    const isThrottled = cloudError ? isThrottling(cloudError, expected.result.errorText ?? '') : false;
    const isQuota = lacksType || (cloudError?.code === 'quotaExceeded' && !isThrottled);
    if (situation.step.method !== 'CreateMachine' || errorCode !== 'Internal' || !isQuota) return undefined;
    return failsWith(expected, situation, 'ResourceExhausted');
  },
};

/** Before all other checks, this driver refuses a class without the required tags. */
const untagged: Rule = {
  row: 'the driver creates no VM for a class without the tags',
  expect: (expected, situation) => {
    const { tags } = specOf(situation.recorded);
    const isCluster = (tag: string): boolean => tag.includes(CLUSTER);
    const missing = [
      ...(tags.some(isCluster) ? [] : [CLUSTER]),
      ...(tags.some((tag) => tag.includes(ROLE) && !isCluster(tag)) ? [] : [ROLE]),
    ];
    const isWrongAnyway =
      situation.step.result.panic !== undefined ||
      / on (decodeProviderSpec|validateProviderSpec):|requested for Provider/.test(expected.result.errorText ?? '');
    if (situation.step.method !== 'CreateMachine' || missing.length === 0 || isWrongAnyway) return undefined;
    const problems = missing.map(
      (mark) => `spec.tags: Required value: one tag must contain ${mark}, mcm needs this tag to find the VMs`,
    );
    const inner = `error while validating ProviderSpec [${problems.join(' ')}]`;
    const errorText = `${callText(situation)} on validateProviderSpec: machine codes error: code = [Internal] message = [${inner}]`;
    const failed = failsWith(expected, situation, 'Internal', { textIs: 'driver', errorText });
    return { ...failed, requests: [], metrics: withoutServices(failed.metrics) };
  },
};

const REPLAYS = 5;

const doneAtOnce: Rule = {
  row: 'the driver verifies a VM if its operation completes immediately',
  expect: (expected, situation) => {
    const insertion = expected.requests.find(isInsertion);
    if (situation.step.method !== 'CreateMachine' || !insertion) return undefined;
    const { body } = firstReply(situation.recorded.cloud, insertion) ?? {};
    if ((body as { readonly status?: unknown } | undefined)?.status !== 'DONE') return undefined;
    const seen = look(insertion, situation);
    const isThere = (firstReply(situation.recorded.cloud, seen)?.status ?? 404) < 300;
    const again = Array.from({ length: REPLAYS }, () => [seen, insertion]).flat();
    const requests = expected.requests.flatMap((each) =>
      each === insertion ? [insertion, ...(isThere ? [seen] : again)] : [each],
    );
    return { ...expected, requests };
  },
};

const takenName: Rule = {
  row: 'the driver checks an existing VM with the name of the machine',
  expect: (expected, situation) => {
    const insertion = expected.requests.find(isInsertion);
    if (situation.step.method !== 'CreateMachine' || !insertion) return undefined;
    const { status = 200 } = firstReply(situation.recorded.cloud, insertion) ?? {};
    if (status !== 409 || expected.result.errorCode === null) return undefined;
    const seen = look(insertion, situation);
    const requests = [...upTo(expected.requests, isInsertion), seen];
    const found = firstReply(situation.recorded.cloud, seen);
    const tags = (found?.body as { readonly tags?: { readonly items?: readonly string[] } } | undefined)?.tags?.items;
    if (!tags || !sameMarks(tags, specOf(situation.recorded).tags)) return { ...expected, requests };
    return { ...succeeds(expected, situation), requests, metrics: undefined };
  },
};

function sameMarks(a: readonly string[], b: readonly string[]): boolean {
  const marks = (tags: readonly string[]): string =>
    [
      tags.findLast((tag) => tag.includes(CLUSTER)),
      tags.findLast((tag) => tag.includes(ROLE) && !tag.includes(CLUSTER)),
    ].join(' ');
  return marks(a) === marks(b);
}

/** For each method, the service that the driver counts in the metrics before the driver reads the credentials. */
const SERVICES: Readonly<Record<string, string>> = {
  CreateMachine: 'instance_create',
  DeleteMachine: 'instance_delete',
  ListMachines: 'instance_list',
};

/** Returns the host in the token URL of a service account key, unless it belongs to Google. */
function foreignTokenHost({ secret }: RecordedCase): string | undefined {
  const text = secret?.serviceAccountJSON ?? secret?.['serviceaccount.json'] ?? secret?.credentialsConfig ?? '';
  try {
    const account = JSON.parse(text) as { readonly type?: unknown; readonly token_uri?: unknown };
    if (account.type !== 'service_account' || typeof account.token_uri !== 'string') return undefined;
    if (account.token_uri === '') return undefined;
    const { protocol, hostname } = URL.parse(account.token_uri) ?? { protocol: '', hostname: '' };
    return protocol === 'https:' && `.${hostname}`.endsWith('.googleapis.com') ? undefined : account.token_uri;
  } catch {
    return undefined;
  }
}

const tokenHost: Rule = {
  row: 'the driver refuses a token host outside of Google',
  expect: (expected, situation) => {
    const host = foreignTokenHost(situation.recorded);
    const isRefusedBefore = / on \w+: machine codes error/.test(expected.result.errorText ?? '');
    if (host === undefined || host === '' || isRefusedBefore || situation.step.method === 'InitializeMachine')
      return undefined;
    const textMatches = new RegExp(`^${escaped(callText(situation))}: token_uri of "`);
    const failed = failsWith(expected, situation, 'Internal', { textMatches });
    const service = SERVICES[situation.step.method];
    const counted = service ? { [`mcm_cloud_api_requests_failed_total{provider="gcp",service="${service}"}`]: 1 } : {};
    return { ...failed, requests: [], metrics: failed.metrics && { ...withoutServices(failed.metrics), ...counted } };
  },
};

const isBeyond53Bits = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isInteger(value) && !Number.isSafeInteger(value)
    : typeof value === 'object' && value !== null && Object.values(value).some(isBeyond53Bits);

const bigNumber: Rule = {
  row: 'the driver refuses numbers over 53 bits',
  expect: (expected, situation) => {
    const isRefused = / on decodeProviderSpec:|requested for Provider/.test(expected.result.errorText ?? '');
    if (!isBeyond53Bits(situation.recorded.providerSpec) || isRefused) return undefined;
    const inner = 'machine codes error: code = [Internal] message = [providerSpec.';
    const textMatches = new RegExp(`^${escaped(`${callText(situation)} on decodeProviderSpec: ${inner}`)}`);
    const failed = failsWith(expected, situation, 'Internal', { textMatches });
    return { ...failed, requests: [], metrics: withoutServices(failed.metrics) };
  },
};

const namelessInstance: Rule = {
  row: 'the list omits an instance without a name',
  expect: (expected) => {
    const list = expected.result.response?.machineList as Readonly<Record<string, string>> | null | undefined;
    const named = Object.entries(list ?? {}).filter(([, name]) => name !== '');
    if (!list || named.length === Object.keys(list).length) return undefined;
    const response = { ...expected.result.response, machineList: Object.fromEntries(named) };
    return { ...expected, result: { ...expected.result, response } };
  },
};

const isLogin = ({ form, host = '' }: ExpectedRequest): boolean =>
  form !== undefined || host.startsWith('iamcredentials.');

const isDown = ({ method, host = '', path }: ExpectedRequest, { recorded }: Situation): boolean => {
  const { status = 200 } = firstReply(recorded.cloud, { method, path, host }) ?? {};
  return status >= 500 || status === 429;
};

const replyTo = ({ recorded }: Situation, { method, path, host = '' }: ExpectedRequest) =>
  firstReply(recorded.cloud, { method, path, host });

/**
 * The original treats every 404 as a response of the cloud. If the body of a 404 is not in Google's error format, this
 * driver assumes that another server, such as a proxy, sent it.
 */
const nobodysNotFound: Rule = {
  row: 'A 404 without an error of Google',
  expect: (expected, situation) => {
    const isNobodys = (each: ExpectedRequest): boolean => {
      const { status, body } = replyTo(situation, each) ?? {};
      const { error } = (body ?? {}) as { readonly error?: { readonly message?: unknown; readonly errors?: unknown } };
      return each.method === 'DELETE' && status === 404 && !error?.message && !error?.errors;
    };
    if (!expected.requests.some(isNobodys)) return undefined;
    const textMatches = new RegExp(`^${escaped(callText(situation))}: googleapi: Error 404: `);
    const failed = failsWith(expected, situation, 'Internal', { textMatches });
    return { ...failed, requests: upTo(expected.requests, isNobodys), metrics: undefined };
  },
};

/**
 * The original treats a successful response without content as an empty object, and an operation without a name as not
 * done.
 */
const oddAnswer: Rule = {
  row: 'a response that is not from Compute Engine has the code Internal',
  expect: (expected, situation) => {
    const isOdd = (each: ExpectedRequest): boolean => {
      const { status = 200, body, text, network } = replyTo(situation, each) ?? { status: 404 };
      if (status >= 300 || network !== undefined || text !== undefined) return false;
      const isNamed = (body as { readonly name?: unknown } | undefined)?.name !== undefined;
      const isOperation = /^(POST|DELETE) .*\/instances|\/operations\//.test(`${each.method} ${each.path}`);
      return body === undefined || (isOperation && isRecord(body) && !isNamed);
    };
    if (!expected.requests.some(isOdd)) return undefined;
    const textMatches = new RegExp(`^${escaped(callText(situation))}: .*(not from|not a operation of) Compute Engine`);
    const failed = failsWith(expected, situation, 'Internal', { textMatches });
    return { ...failed, requests: upTo(expected.requests, isOdd), metrics: undefined };
  },
};

/**
 * The intended differences between this driver and the original. docs/compatibility/differences.md contains a row for
 * each rule.
 */
export const RULES: readonly Rule[] = [
  methodIsAbsent('the driver has no methods for calls that GCP does not support', 'InitializeMachine'),
  endsOriginal('mcm returns an error for input that crashes the original', ['Internal', 'NotFound']),
  specIsKeptOtherwise('the driver reads the provider spec as the API server stores it', ['Internal']),
  quota,
  throttledIsUnavailable('a throttled request gets the code Unavailable', isThrottling),
  doneAtOnce,
  takenName,
  tokenHostIsDown('a failure of the token host gets the code Unavailable', isLogin, isDown),
  tokenHost,
  bigNumber,
  untagged,
  namelessInstance,
  noVolume('the driver requests volumes one at a time'),
  nobodysNotFound,
  oddAnswer,
];
