import { isThrottle, Refusal } from '@mcm/provider-aws';
import {
  anyCountOf,
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
  type CallerEnd,
  endedByCaller,
  endsOriginal,
  escaped,
  noVolume,
  outlivesDeadline,
  specIsKeptOtherwise,
  throttledIsUnavailable,
  tokenHostIsDown,
  upTo,
} from '../rules.ts';
import { lineOf } from './compare.ts';
import { moreIsFine, ownEntry } from './prefixes.ts';
import { instanceOf, instancesOf, request, scriptOf, searchByTags, specOf } from './situation.ts';

/** Source: the original's pkg/aws/errors. */
const CAPACITY =
  /^(Insufficient(Address|Instance|Volume)?Capacity|(Instance|Vcpu|Volume|MaxIOPS|Route)LimitExceeded|Unsupported)$/;

const isThrottling = ({ http, code }: NonNullable<Expected['result']['cloudError']>): boolean =>
  isThrottle(new Refusal('', { code: code ?? '', message: '', status: http ?? 0 }));

const callerEnd = (recorded: RecordedCase): CallerEnd => {
  if (recorded.callerCancelled === true) return 'before';
  return scriptOf(recorded).some(({ cancelCaller }) => cancelCaller === true) ? 'during' : 'never';
};

const THEIRS = 3;
const OURS = 10;

/**
 * Returns true if the cloud throttles more attempts than the original makes, but fewer attempts than this driver makes.
 */
const isThrottledForATime = ({ recorded }: Situation): boolean =>
  recorded.env?.AWS_MAX_ATTEMPTS === undefined &&
  scriptOf(recorded).some(({ error, times = 0 }) => error && isThrottling(error) && times >= THEIRS && times < OURS);

const triesOften: Rule = {
  row: 'the driver retries a throttled call more often than the original, and counts it as one call',
  expect: (expected, situation) => {
    if (!isThrottledForATime(situation)) return undefined;
    const { errorCode, cloudError } = expected.result;
    if (errorCode === null) return anyCountOf(expected, /requests_failed_total\{provider/);
    if (!cloudError || !isThrottling(cloudError)) return undefined;
    return { ...succeeds({ ...expected, metrics: undefined }, situation), extent: 'may continue' };
  },
};

const isNoAnswer = (action: string, body: string): boolean => !body.includes(`<${action}Response`);

const noAnswer: Rule = {
  row: 'a response that is not from EC2 has the code Internal',
  expect: (expected, situation) => {
    const odd = scriptOf(situation.recorded).find(
      ({ action, raw }) => raw !== undefined && raw.http >= 200 && raw.http < 300 && isNoAnswer(action, raw.body),
    );
    const requests = upTo(expected.requests, ({ action }) => action === odd?.action);
    if (!odd || requests.at(-1)?.action !== odd.action) return undefined;
    // The metrics of the original count an invalid response as a success, and the metrics of this driver count it as a
    // failure.
    if (situation.step.method === 'CreateMachine' && odd.action === 'DescribeInstances')
      return anyCountOf({ ...expected, metrics: alsoFailed(expected.metrics) }, /service="instance_get_by_id"/);
    // If the search by tags fails, the driver sends no search by ID.
    const isSearch = odd.action === 'DescribeInstances' && requests.at(-1)?.params['InstanceId.1'] === undefined;
    const code = situation.step.method === 'InitializeMachine' && !isSearch ? 'Uninitialized' : 'Internal';
    const textMatches = new RegExp(`${odd.action}: \\S+ returned an incomplete or invalid ${odd.action}Response`);
    const failed = failsWith(expected, situation, code, { textMatches });
    const left = isSearch ? without(failed.metrics, /service="instance_get_by_id"/) : failed.metrics;
    return { ...failed, requests, metrics: servicesFailed(left, servicesOf(odd.action, isSearch)) };
  },
};

/** Returns a pattern for the services that the metrics count as failed when a request fails. */
function servicesOf(action: string, isSearch: boolean): RegExp {
  if (action === 'DescribeInstances') return isSearch ? /^instance_get_by_/ : /^instance_get_by_(id|machine)$/;
  if (action === 'TerminateInstances') return /^instance_terminate$/;
  return action === 'ModifyNetworkInterfaceAttribute' ? /^instance_disable_source_dest_check$/ : /^(?!)/;
}

const without = (metrics: Expected['metrics'], which: RegExp): Expected['metrics'] =>
  metrics && Object.fromEntries(Object.entries(metrics).filter(([name]) => !which.test(name)));

/** Adds failures to the metrics for each service that has successes. */
const alsoFailed = (metrics: Expected['metrics']): Expected['metrics'] =>
  metrics && { ...servicesFailed(metrics, /./), ...metrics };

/** Changes the successes of some services in the metrics to failures. */
function servicesFailed(metrics: Expected['metrics'], services: RegExp): Expected['metrics'] {
  if (!metrics) return undefined;
  const entries = Object.entries(metrics).flatMap(([name, value]): [string, number | string][] => {
    if (!services.test(/service="([^"]*)"/.exec(name)?.[1] ?? '')) return [[name, value]];
    if (/api_request_duration_seconds_count\{provider/.test(name)) return [];
    return [[name.replace('_requests_total{provider', '_requests_failed_total{provider'), value]];
  });
  return Object.fromEntries(entries);
}

/**
 * This driver does not repeat the request after a lost response, because a second request could assign more IPv6
 * prefixes.
 */
const assignsOnce: Rule = {
  row: '`AssignIpv6Addresses` with a lost response',
  expect: (expected, situation) => {
    const lost = scriptOf(situation.recorded).find(({ action }) => action === 'AssignIpv6Addresses');
    const isUnknown = lost?.close === true || (lost?.error && lost.error.http >= 500 && !isThrottling(lost.error));
    const requests = upTo(expected.requests, ({ action }) => action === 'AssignIpv6Addresses');
    if (!isUnknown || expected.result.errorCode !== null || requests.at(-1)?.action !== 'AssignIpv6Addresses')
      return undefined;
    const textMatches = /^AssignIpv6Addresses: /;
    return { ...failsWith(expected, situation, 'Uninitialized', { textMatches }), requests };
  },
};

/**
 * Matches the regions that the SDK for JavaScript accepts. The SDK for Go also accepts dots, and it accepts hyphens at
 * both ends.
 */
const REGION = /^(?!-)[a-zA-Z0-9-]{1,63}(?<!-)$/;

const oddRegion: Rule = {
  row: 'A region that is not a host name, such as `-` or `a.b`',
  expect: (expected, situation) => {
    const { region } = specOf(situation.recorded);
    if (region === undefined || REGION.test(region) || expected.requests.length === 0) return undefined;
    const textMatches = new RegExp(
      `^Region not accepted: region="${escaped(region)}" is not a valid hostname component\\.$`,
    );
    const search = without(expected.metrics, /service="(?!instance_get_by_(tag_and_status|machine)")/);
    const metrics = servicesFailed(search, /./);
    return { ...failsWith({ ...expected, metrics }, situation, 'Internal', { textMatches }), requests: [] };
  },
};

const CREDENTIALS =
  /^(provider(AccessKeyId|SecretAccessKey)|accessKeyID|secretAccessKey|roleARN|workloadIdentityTokenFile)$/;
const isText = (value: string): boolean => !Buffer.from(value, 'base64').toString('utf8').includes('\u{fffd}');

const unreadableKeys: Rule = {
  row: 'A value of a Secret that is not UTF-8',
  expect: (expected, situation) => {
    const values = Object.entries(situation.recorded.secretBase64 ?? {});
    const bad = values.find(([key, value]) => CREDENTIALS.test(key) && !isText(value))?.[0];
    if (bad === undefined) return undefined;
    const textMatches = new RegExp(`data\\.${bad} of Secret \\S+ is not UTF-8 text`);
    return { ...failsWith(expected, situation, 'InvalidArgument', { textMatches }), requests: [], metrics: undefined };
  },
};

const noSecondTry: Rule = {
  row: 'the driver does not retry a call that the cloud refuses because of missing capacity',
  expect: (expected, situation) => {
    const lack = scriptOf(situation.recorded).find(
      ({ action, error, times }) =>
        action === 'RunInstances' && times !== undefined && CAPACITY.test(error?.code ?? ''),
    );
    // The SDK for Go repeats a request only if the status of the response is 5xx.
    if (!lack?.error || lack.error.http < 500 || situation.step.method !== 'CreateMachine') return undefined;
    const { http, code, message } = lack.error;
    const refused = { textIs: 'sdk', cloudError: { http, code, message } } as const;
    return {
      ...failsWith(
        { ...expected, metrics: withoutServices(expected.metrics) },
        situation,
        'ResourceExhausted',
        refused,
      ),
      requests: upTo(expected.requests, ({ action }) => action === 'RunInstances'),
    };
  },
};

const TOKENS = 5;

const nextToken: Rule = {
  row: 'if another request already used the client token, the driver uses a new token',
  expect: (expected, situation) => {
    const { cloudError } = expected.result;
    const launch = expected.requests.findLast(({ action }) => action === 'RunInstances');
    if (cloudError?.code !== 'IdempotentParameterMismatch' || !launch) return undefined;
    const again = Array.from({ length: TOKENS }, () => [searchByTags(situation), launch]).flat();
    return { ...expected, requests: [...expected.requests, ...again] };
  },
};

const COUNTS = ['api_request_duration_seconds_count', 'requests_total'];

/** The original reads only the source/destination check of the VM, which belongs to the first interface. */
const secondInterface: Rule = {
  row: 'the driver disables the source/destination check on every interface',
  expect: (expected, situation) => {
    const instance = instanceOf(situation);
    const interfaces = (instance?.networkInterfaces ?? []).filter((each) => !/^efa/.test(each.interfaceType ?? ''));
    if (situation.step.method !== 'InitializeMachine' || specOf(situation.recorded).srcAndDstChecksEnabled !== false)
      return undefined;
    if (instance?.sourceDestCheck !== false || !interfaces.some(({ sourceDestCheck }) => sourceDestCheck === true))
      return undefined;
    const isAssigning = ({ action }: ExpectedRequest): boolean => action === 'AssignIpv6Addresses';
    const look = request('DescribeInstances', { 'InstanceId.1': instance.instanceId ?? '' });
    const switched = interfaces.map(({ networkInterfaceId }) =>
      request('ModifyNetworkInterfaceAttribute', {
        NetworkInterfaceId: networkInterfaceId ?? '',
        'SourceDestCheck.Value': 'false',
      }),
    );
    const { requests, metrics } = expected;
    const others = requests.filter((each) => !isAssigning(each));
    const more = COUNTS.map((count) => [
      `mcm_cloud_api_${count}{provider="aws",service="instance_disable_source_dest_check"}`,
      1,
    ]);
    return {
      ...expected,
      requests: [...others, look, ...switched, ...requests.filter(isAssigning)],
      metrics: metrics && { ...metrics, ...Object.fromEntries(more) },
    };
  },
};

const ABSENT = 'AWS plugin is returning no VM instances backing this machine object';

/** For an hour, EC2 returns a terminated VM if a request contains its ID. */
const terminatedIsNone: Rule = {
  row: 'a terminated VM counts as deleted',
  expect: (expected, situation) => {
    const { method, providerID = '' } = situation.step;
    const id = /[^/]*$/.exec(providerID)?.[0];
    const vm = instancesOf(situation.recorded).find(({ instanceId }) => instanceId === id);
    const at = expected.requests.findIndex(({ params }) => params['InstanceId.1'] === id);
    if (vm?.state !== 'terminated' || at < 0) return undefined;
    if (method !== 'GetMachineStatus' && method !== 'InitializeMachine') return undefined;
    const isStatus = method === 'GetMachineStatus';
    const failed = failsWith(expected, situation, isStatus ? 'NotFound' : 'Uninitialized', {
      textIs: 'driver',
      errorText: isStatus ? ABSENT : `machine codes error: code = [NotFound] message = [${ABSENT}]`,
    });
    return { ...failed, requests: expected.requests.slice(0, at + 1), metrics: machineNotFound(failed.metrics) };
  },
};

/** Returns the metrics of a call whose requests succeed but find no VM. */
function machineNotFound(metrics: Expected['metrics']): Expected['metrics'] {
  if (!metrics) return undefined;
  const others = Object.entries(metrics).filter(([name]) => !name.includes('service="instance_get_by_machine"'));
  const failure = 'mcm_cloud_api_requests_failed_total{provider="aws",service="instance_get_by_machine"}';
  return { ...Object.fromEntries(others), [failure]: 1 };
}

const endedAtOnce: Rule = {
  row: 'the error reports that a VM ended immediately after its launch',
  expect: (expected, situation) => {
    const reported = scriptOf(situation.recorded).some(
      ({ action, raw }) => action === 'DescribeInstances' && /<name>(terminated|shutting-down)</.test(raw?.body ?? ''),
    );
    if (!reported || situation.step.method !== 'CreateMachine') return undefined;
    const textMatches = /^VM "[^"]*" ended immediately after its launch and is (terminated|shutting-down): /;
    return failsWith(expected, situation, 'Internal', { textMatches });
  },
};

const FIRST = 'TagSpecification.1.';
const SPOT = 'TagSpecification.4.';

const isSpot = ({ action, params }: ExpectedRequest): boolean =>
  action === 'RunInstances' && params['InstanceMarketOptions.MarketType'] === 'spot';

const spotTags: Rule = {
  row: 'a spot request has the tags of its VM',
  expect: (expected) => {
    if (!expected.requests.some(isSpot)) return undefined;
    const requests = expected.requests.map((each) => {
      if (!isSpot(each)) return each;
      const tags = Object.entries(each.params).filter(([key]) => key.startsWith(FIRST));
      const copied = Object.fromEntries(tags.map(([key, value]) => [key.replace(FIRST, SPOT), value]));
      return { ...each, params: { ...each.params, ...copied, [`${SPOT}ResourceType`]: 'spot-instances-request' } };
    });
    return { ...expected, requests };
  },
};

/** In consecutive calls, this driver reads an image or a new VM only once. */
const readBefore: Rule = {
  row: 'the driver reuses results of recent requests',
  expect: (expected, situation) => {
    const before = (situation.recorded.steps ?? []).slice(0, situation.index);
    const images = before.flatMap(({ requests }) => requests).filter(({ action }) => action === 'DescribeImages');
    const read = new Set(images.map((each) => lineOf(each).text));
    const made = before.findLastIndex(({ method, result }) => method === 'CreateMachine' && result.errorCode === null);
    const isFirst =
      situation.step.method === 'InitializeMachine' &&
      made >= 0 &&
      !before.slice(made).some(({ method }) => method === 'InitializeMachine');
    const isKnown = (each: ExpectedRequest): boolean =>
      read.has(lineOf(each).text) || (isFirst && each.action === 'DescribeInstances');
    const requests = expected.requests.filter((each) => !isKnown(each));
    if (requests.length === expected.requests.length) return undefined;
    const metrics = Object.entries(expected.metrics ?? {}).filter(
      ([name]) => !(isFirst && /service="instance_get_by_/.test(name)),
    );
    return { ...expected, requests, metrics: expected.metrics && Object.fromEntries(metrics) };
  },
};

const LOGIN = 'AssumeRoleWithWebIdentity';
const isLogin = ({ action }: ExpectedRequest): boolean => action === LOGIN;

const isLoginDown = (_: ExpectedRequest, { step }: Situation): boolean => {
  const { errorCode, errorText, cloudError } = step.result;
  return errorCode === 'Internal' && errorText?.includes(LOGIN) === true && (cloudError?.http ?? 0) >= 500;
};

/**
 * The intended differences between this driver and the original. docs/compatibility/differences.md contains a row for
 * each rule.
 */
export const RULES: readonly Rule[] = [
  specIsKeptOtherwise('the driver reads the provider spec as the API server stores it', [
    'InvalidArgument',
    'Internal',
  ]),
  endsOriginal('the driver reads the provider spec as the API server stores it', ['InvalidArgument']),
  unreadableKeys,
  oddRegion,
  triesOften,
  throttledIsUnavailable('a throttled call gets the code Unavailable', isThrottling),
  noAnswer,
  endedByCaller('a canceled call gets the code Canceled', callerEnd),
  outlivesDeadline(
    'a call that exceeds its deadline gets the code DeadlineExceeded',
    ({ callerDeadlineMs }) => callerDeadlineMs,
  ),
  noSecondTry,
  assignsOnce,
  tokenHostIsDown('a failure of the token host gets the code Unavailable', isLogin, isLoginDown),
  nextToken,
  secondInterface,
  ownEntry,
  moreIsFine,
  terminatedIsNone,
  endedAtOnce,
  spotTags,
  readBefore,
  noVolume('the driver requests volumes one at a time'),
];
