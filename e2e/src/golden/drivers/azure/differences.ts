import { DRIVER_TIMEOUTS } from '@mcm/core';
import { withoutUndefined } from '@mcm/kube';
import { z } from 'zod';
import {
  type Expected,
  type ExpectedRequest,
  failsWith,
  type Rule,
  type Situation,
  withoutServices,
} from '../expected.ts';
import type { RecordedCase } from '../recording.ts';
import {
  endsOriginal,
  escaped,
  methodIsAbsent,
  outlivesDeadline,
  specIsKeptOtherwise,
  throttledIsUnavailable,
  tokenHostIsDown,
  upTo,
} from '../rules.ts';
import { firstReply, scriptedRules } from '../scripted.ts';
import { readOnlyFields } from './read-only.ts';

interface RecordedSpec {
  readonly resourceGroup: string;
  readonly tags: object;
}
function specOf({ providerSpec }: RecordedCase): RecordedSpec {
  const { resourceGroup, tags } = (providerSpec ?? {}) as { readonly resourceGroup?: unknown; readonly tags?: unknown };
  return {
    resourceGroup: typeof resourceGroup === 'string' ? resourceGroup : '',
    tags: typeof tags === 'object' && tags !== null ? tags : {},
  };
}

const isThrottling = ({ http }: NonNullable<Expected['result']['cloudError']>): boolean => http === 429;

/** Returns the deadline of a call: the deadline of the caller, or of the machine controller. */
function deadlineOf(recorded: RecordedCase): number | undefined {
  const seconds = recorded.contextDeadlineSeconds;
  if (typeof seconds === 'number') return seconds * 1_000;
  const text = recorded.result?.errorText ?? '';
  if (!/create (VirtualMachine|NIC): .* context deadline exceeded$/.test(text)) return undefined;
  return DRIVER_TIMEOUTS.create;
}

const textWith = (result: Expected['result'], change: (pattern: string) => string): RegExp => {
  const words = String(result.driverText ?? result.errorText ?? '').split(/<cloud error [^>]+>/);
  return new RegExp(`^${change(words.map(escaped).join('[\\s\\S]+'))}$`);
};

/**
 * Matches the errors about resources that the cloud did not delete. Each error contains an address, a status and a
 * code.
 */
const PARTS = '(DELETE \\S+/(networkInterfaces|disks)/[^/ ]+: \\d+ .+?(; )?)+';

const leftOvers: Rule = {
  row: 'the error of a failed deletion contains the reason',
  expect: (expected) => {
    if (!expected.result.errorText?.includes('Err: <nil>')) return undefined;
    const textMatches = textWith(expected.result, (pattern) => pattern.replaceAll('<nil>', () => PARTS));
    return { ...expected, result: { ...expected.result, textMatches } };
  },
};

/** Matches an image in the format of Go, which contains memory addresses. */
const POINTERS = /\\\{[^}]*<pointer>[^}]*\\\}/g;
const RETRIEVED = /Failed to retrieve VM Image: \\\{[^}]*<pointer>[^}]*\\\}/g;
/** Matches the error of the request for the image. */
const CAUSE = ': GET \\S+: \\d+ [^\\]]+';
const URN = '[^:\\s]+(:[^:\\s]+){3}';

const imageUrn: Rule = {
  row: 'messages contain the URN of an image',
  expect: (expected) => {
    if (!expected.result.errorText?.includes('<pointer>')) return undefined;
    const textMatches = textWith(expected.result, (pattern) =>
      pattern.replaceAll(RETRIEVED, (found) => `${found}${CAUSE}`).replaceAll(POINTERS, () => URN),
    );
    const isReported = !expected.result.errorText.includes('does not exist');
    const cloudError = isReported ? expected.result.cloudError : null;
    return { ...expected, result: { ...expected.result, textMatches, cloudError } };
  },
};

const UNREGISTERED = 'MissingSubscriptionRegistration';

const answerTo = ({ recorded }: Situation, request: ExpectedRequest): string => {
  const { body, text } = firstReply(recorded.cloud, request) ?? {};
  return text ?? JSON.stringify(body ?? '');
};

const registration: Rule = {
  row: 'the driver does not register resource providers',
  expect: (expected, situation) => {
    const isRefused = (each: ExpectedRequest): boolean => answerTo(situation, each).includes(UNREGISTERED);
    if (!expected.requests.some(isRefused)) return undefined;
    const failed = failsWith(expected, situation, 'Internal', { textMatches: new RegExp(`: \\d+ ${UNREGISTERED}: `) });
    const requests = upTo(expected.requests, isRefused);
    return { ...failed, requests, metrics: lastServiceFailed(failed.metrics) };
  },
};

function lastServiceFailed(metrics: Expected['metrics']): Expected['metrics'] {
  const others = Object.entries(metrics ?? {}).filter(([name]) => !name.includes('service="virtual_machine_create"'));
  const failure = 'mcm_cloud_api_requests_failed_total{provider="azure",service="virtual_machine_create"}';
  return { ...Object.fromEntries(others), [failure]: 1 };
}

const vmAnswer = z.looseObject({
  properties: z
    .looseObject({
      provisioningState: z.string().nullish(),
      networkProfile: z
        .looseObject({
          networkInterfaces: z
            .array(
              z.looseObject({
                id: z.string().optional(),
                properties: z.looseObject({ deleteOption: z.string().nullish() }).nullish(),
              }),
            )
            .nullish(),
        })
        .nullish(),
      storageProfile: z
        .looseObject({ dataDisks: z.array(z.looseObject({ toBeDetached: z.boolean().nullish() })).nullish() })
        .nullish(),
    })
    .nullish(),
});

const isOfVm = ({ path }: ExpectedRequest): boolean => /\/virtualMachines\/[^/]+$/.test(path);
const UPDATE = 'virtual_machine_update';

/** The original compares the ARM ID of the NIC with the name of the NIC, which always differ. */
const ownNic: Rule = {
  row: 'the driver deletes a NIC that would remain after its VM',
  expect: (expected, situation) => {
    const { requests, metrics } = expected;
    const read = requests.find((each) => each.method === 'GET' && isOfVm(each));
    const deletion = requests.findIndex((each) => each.method === 'DELETE' && isOfVm(each));
    if (situation.step.method !== 'DeleteMachine' || !read || deletion < 0) return undefined;
    const { properties } = vmAnswer.safeParse(firstReply(situation.recorded.cloud, read)?.body).data ?? {};
    const isFixed =
      /^failed$/i.test(properties?.provisioningState ?? '') ||
      (properties?.storageProfile?.dataDisks ?? []).some(({ toBeDetached }) => toBeDetached === true);
    const name = `${(situation.recorded.machine?.name ?? '').toLowerCase()}-nic`;
    const own = (properties?.networkProfile?.networkInterfaces ?? []).filter(
      ({ id = '', properties: nic }) => id.endsWith(`/${name}`) && nic?.deleteOption !== 'Delete',
    );
    if (isFixed || own.length === 0) return undefined;
    const networkProfile = { networkInterfaces: own.map(({ id }) => ({ id, properties: { deleteOption: 'Delete' } })) };
    const at = requests.findIndex((each) => each.method === 'PATCH' && isOfVm(each));
    const change = (body: unknown) => ({
      properties: { storageProfile: {}, ...(body as { properties?: object } | undefined)?.properties, networkProfile },
    });
    const { body: _, ...bare } = requests[deletion] ?? read;
    const patch = at < 0 ? { ...bare, method: 'PATCH', body: change(undefined) } : undefined;
    const counted = patch
      ? {
          [`mcm_cloud_api_api_request_duration_seconds_count{provider="azure",service="${UPDATE}"}`]: 1,
          [`mcm_cloud_api_requests_total{provider="azure",service="${UPDATE}"}`]: 1,
        }
      : {};
    return {
      ...expected,
      requests: requests.flatMap((each, i) => {
        if (i === at) return [{ ...each, body: change(each.body) }];
        return i === deletion && patch ? [patch, each] : [each];
      }),
      metrics: metrics && { ...metrics, ...counted },
    };
  },
};

const text = z.string().nullish().catch(undefined);
const rows = z.looseObject({ data: z.array(z.looseObject({ type: text, name: text }).catch({})).nullish() });

/** Returns the machine names that the names of VMs, NICs and OS disks in the responses contain. */
function namedMachines({ recorded }: Situation): readonly string[] {
  const answers = scriptedRules.parse(recorded.cloud ?? []).flatMap(({ replies }) => replies.map(({ body }) => body));
  return answers.flatMap((body) =>
    (rows.safeParse(body).data?.data ?? []).flatMap(({ type, name }) => {
      if (!name) return [];
      if (type === 'microsoft.compute/virtualmachines') return [name];
      if (type === 'microsoft.network/networkinterfaces') return [name.slice(0, -'-nic'.length)];
      return type === 'microsoft.compute/disks' && name.endsWith('-os-disk') ? [name.slice(0, -'-os-disk'.length)] : [];
    }),
  );
}

const dataDiskAlone: Rule = {
  row: 'the list ignores a data disk without a VM',
  expect: (expected, situation) => {
    const list = expected.result.response?.machineList as Readonly<Record<string, string>> | null | undefined;
    if (situation.step.method !== 'ListMachines' || !list) return undefined;
    const names = new Set(namedMachines(situation));
    const kept = Object.entries(list).filter(([, name]) => names.has(name));
    if (kept.length === Object.keys(list).length) return undefined;
    const response = { ...expected.result.response, machineList: Object.fromEntries(kept) };
    return { ...expected, result: { ...expected.result, response } };
  },
};

const quotable = (recorded: RecordedCase): readonly string[] => {
  const { resourceGroup, tags } = specOf(recorded);
  return [resourceGroup, ...Object.keys(tags)].filter((text) => /['\\]/.test(text));
};

const quotes: Rule = {
  row: 'the driver escapes quotes in the names of a query',
  expect: (expected, { recorded }) => {
    const texts = quotable(recorded);
    const isQuery = ({ path }: ExpectedRequest): boolean => path.includes('Microsoft.ResourceGraph');
    if (texts.length === 0 || !expected.requests.some(isQuery)) return undefined;
    const withEscapes = (query: string): string =>
      texts.reduce(
        (rest, text) => rest.replaceAll(`'${text}'`, () => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`),
        query,
      );
    const requests = expected.requests.map((each) => {
      const { body } = each;
      const { query } = (body ?? {}) as { readonly query?: unknown };
      return isQuery(each) && typeof query === 'string'
        ? { ...each, body: { ...Object(body), query: withEscapes(query) } }
        : each;
    });
    return { ...expected, requests };
  },
};

const OTHER_SCOPES = ' openid offline_access profile';

function plainToken(request: ExpectedRequest): ExpectedRequest {
  const { form } = request;
  if (!request.path.endsWith('/oauth2/v2.0/token') || !form) return request;
  const { claims: _, scope, ...others } = form;
  return { ...request, form: { ...others, scope: String(scope).replace(OTHER_SCOPES, '') } };
}

const token: Rule = {
  row: 'the driver requests one token for several calls',
  expect: (expected, { recorded }) => {
    if (recorded.recordsToken !== true) return undefined;
    const isSearch = ({ method, path }: ExpectedRequest): boolean =>
      method === 'GET' && /\/discovery\/instance$|\/\.well-known\/openid-configuration$/.test(path);
    const requests = expected.requests.filter((each) => !isSearch(each)).map(plainToken);
    const isOther = requests.some((each, i) => each !== expected.requests[i]);
    const missing = /^(.*)open \S+: no such file or directory$/.exec(expected.result.errorText ?? '');
    const textMatches = missing && new RegExp(`^${escaped(missing[1] ?? '')}open \\S+: the file cannot be read$`);
    if (!isOther && !textMatches) return undefined;
    return {
      ...expected,
      requests,
      result: { ...expected.result, ...withoutUndefined({ textMatches: textMatches ?? undefined }) },
    };
  },
};

const isLogin = ({ path }: ExpectedRequest): boolean => path.endsWith('/oauth2/v2.0/token');

const isDown = (request: ExpectedRequest, { recorded }: Situation): boolean => {
  const { status = 200 } =
    firstReply(recorded.cloud, { ...request, host: request.host ?? String(recorded.host) }) ?? {};
  return status >= 500 || status === 429;
};

const CODE_HEADER = 'x-ms-error-code';
const NO_ROOM = ['ZonalAllocationFailed', 'SkuNotAvailable', 'AllocationFailed', 'ResourceQuotaExceeded'];

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Returns true if an error means a lack of capacity. Source: the original's pkg/azure/access/errors. */
function lacksRoom(code: string, text: string): boolean {
  if (code === 'OperationNotAllowed') return /exceeding.*quota/i.test(text);
  return code === 'BadRequest' ? /not\s+supported/i.test(text) : NO_ROOM.includes(code);
}

/** Returns the error code in the header of a response without JSON, if it means a lack of capacity. */
const codeInHeader = (request: ExpectedRequest, { recorded }: Situation): string | undefined => {
  const { headers = {}, text = '' } = firstReply(recorded.cloud, request) ?? {};
  const [, code = ''] = Object.entries(headers).find(([name]) => name.toLowerCase() === CODE_HEADER) ?? [];
  return text === '' || isJson(text) || !lacksRoom(code, text) ? undefined : code;
};

/** If the status is 409, the library of the original reads the body of the response before the header. */
const headerBesidePage: Rule = {
  row: 'the driver uses the code in a header if the body is not JSON',
  expect: (expected, situation) => {
    const put = expected.requests.find((each) => each.method === 'PUT' && isOfVm(each));
    const code = put && codeInHeader(put, situation);
    const nic = expected.requests.find(({ path }) => path.endsWith('-nic'));
    if (!put || !nic || code === undefined) return undefined;
    if (expected.result.errorCode !== 'Internal') return undefined;
    const deletion = ({ path, query }: ExpectedRequest): ExpectedRequest => ({
      action: '',
      params: {},
      method: 'DELETE',
      path,
      query,
    });
    const osDisk = { ...put, path: `${put.path.replace('virtualMachines', 'disks')}-os-disk`, query: DISK_VERSION };
    const deletions = [deletion(put), { ...deletion(nic), unordered: true }, { ...deletion(osDisk), unordered: true }];
    // The text contains the error of the creation, and then one line for each failed deletion.
    const isClean = deletions.every((each) => (firstReply(situation.recorded.cloud, each)?.status ?? 404) < 300);
    const textMatches = new RegExp(
      `^Failed to create VirtualMachine: .*: PUT \\S+: 409 ${code}${isClean ? '' : '\\n[\\s\\S]+'}$`,
    );
    const failed = failsWith(expected, situation, 'ResourceExhausted', { textMatches });
    const services = ['virtual_machine_delete', 'nic_delete', 'disk_delete'];
    const counted = services.flatMap((service) => [
      [`mcm_cloud_api_api_request_duration_seconds_count{provider="azure",service="${service}"}`, 1],
      [`mcm_cloud_api_requests_total{provider="azure",service="${service}"}`, 1],
    ]);
    return {
      ...failed,
      requests: [...upTo(expected.requests, (each) => each === put), ...deletions],
      metrics: isClean ? failed.metrics && { ...failed.metrics, ...Object.fromEntries(counted) } : undefined,
    };
  },
};

const DISK_VERSION = { 'api-version': '2023-04-02' };

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** Returns true if a response contains an error code: in a header, in a JSON body, or in an XML body. */
function hasCode({ headers = {}, body, text = '' }: NonNullable<ReturnType<typeof firstReply>>): boolean {
  if (Object.entries(headers).some(([name, value]) => name.toLowerCase() === CODE_HEADER && value.trim() !== ''))
    return true;
  const { error, code } = Object(isJson(text) ? JSON.parse(text) : body) as Readonly<Record<string, unknown>>;
  return (
    isText((error as { readonly code?: unknown } | null | undefined)?.code) || isText(code) || /<code>/i.test(text)
  );
}

/**
 * For the original, every 404 is a response of the cloud. If a 404 contains no error code, this driver assumes that
 * another server, such as a proxy, sent the response.
 */
const nobodysNotFound: Rule = {
  row: 'a 404 without an error code of the cloud is different from NotFound',
  expect: (expected, situation) => {
    const isNobodys = (each: ExpectedRequest): boolean => {
      const reply = firstReply(situation.recorded.cloud, each);
      return each.method === 'GET' && reply?.status === 404 && !hasCode(reply);
    };
    if (!expected.requests.some(isNobodys)) return undefined;
    const failed = failsWith(expected, situation, 'Internal', {
      textMatches: /404 without a code|^Failed to retrieve/,
    });
    return { ...failed, requests: upTo(expected.requests, isNobodys), metrics: undefined };
  },
};

const priorityOf = ({ providerSpec }: RecordedCase): unknown => {
  const { properties } = (providerSpec ?? {}) as { readonly properties?: { readonly priority?: unknown } | null };
  return properties?.priority;
};

const INVALID_SPEC = 'error in validation of AzureProviderSpec: [';
const ANOTHER_PRIORITY =
  'providerSpec\\.properties\\.priority: Unsupported value: "(?:[^"\\\\]|\\\\.)*": supported values: "Regular", "Spot"';

/** Returns the expected text for a class with an unknown priority: the problems in the recording, and the priority. */
function textWithPriority(text: string): RegExp {
  const problems = text.slice(INVALID_SPEC.length, -1).split(/ (?=providerSpec\.)/);
  const ways = [...problems, ''].map((_, at) => problems.map(escaped).toSpliced(at, 0, ANOTHER_PRIORITY).join(' '));
  return new RegExp(`^${escaped(INVALID_SPEC)}(${ways.join('|')})\\]$`);
}

/** The original ignores `properties.priority`. */
const priority: Rule = {
  row: 'the driver sends the priority of a class',
  expect: (expected, situation) => {
    const given = priorityOf(situation.recorded);
    const { errorCode, errorText } = expected.result;
    const isRefused = errorCode === 'InvalidArgument' || situation.step.method === 'InitializeMachine';
    const isUnknown = typeof given === 'string' && given.trim() !== '' && given !== 'Spot' && given !== 'Regular';
    if (isUnknown && errorText?.startsWith(INVALID_SPEC) && !errorText.includes('machineSet.kind')) {
      return { ...expected, result: { ...expected.result, textMatches: textWithPriority(errorText) } };
    }
    if (isUnknown && !isRefused) {
      const failed = failsWith(expected, situation, 'InvalidArgument', { textMatches: /properties\.priority: / });
      return { ...failed, requests: [], metrics: withoutServices(failed.metrics) };
    }
    if (given !== 'Spot' && given !== 'Regular') return undefined;
    const spot = given === 'Spot' ? { evictionPolicy: 'Delete', billingProfile: { maxPrice: -1 } } : {};
    const own = (body: unknown) => {
      const { properties: sent } = (body ?? {}) as { readonly properties?: object };
      return { ...Object(body), properties: { ...sent, priority: given, ...spot } };
    };
    const isVm = (each: ExpectedRequest): boolean => each.method === 'PUT' && isOfVm(each);
    if (!expected.requests.some(isVm)) return undefined;
    return {
      ...expected,
      requests: expected.requests.map((each) => (isVm(each) ? { ...each, body: own(each.body) } : each)),
    };
  },
};

/**
 * The intended differences between this driver and the original. docs/compatibility/differences.md contains a row for
 * each rule.
 */
export const RULES: readonly Rule[] = [
  methodIsAbsent('mcm does not call initialize of a driver without this method', 'InitializeMachine'),
  endsOriginal('mcm returns an error for input that crashes the original', ['InvalidArgument', 'Internal', 'NotFound']),
  specIsKeptOtherwise('the driver reads the provider spec as the API server stores it', [
    'InvalidArgument',
    'Internal',
  ]),
  throttledIsUnavailable('a throttled request gets the code Unavailable', isThrottling),
  outlivesDeadline('a call that exceeds its deadline gets the code DeadlineExceeded', deadlineOf),
  leftOvers,
  imageUrn,
  registration,
  headerBesidePage,
  nobodysNotFound,
  ownNic,
  dataDiskAlone,
  quotes,
  token,
  readOnlyFields,
  tokenHostIsDown('a failure of the token host gets the code Unavailable', isLogin, isDown),
  priority,
];
