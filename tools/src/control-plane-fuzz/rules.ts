import { isJsonObject } from './requests/json.ts';
import type { Difference } from './verdict.ts';

export interface Rule {
  readonly name: string;
  readonly reason: string;
  matches(difference: Difference): boolean;
}

/** Matches a node port in the printed ports of a Service. The server has chosen this port. */
const PICKED = /:3[0-2]\d{3}(?=\/)/g;
const withoutPicked = (value: unknown): unknown => (typeof value === 'string' ? value.replace(PICKED, ':0') : value);

/** Matches an operation of a JSON patch that copies a value which the server has chosen. */
const COPIED = /"op":"(copy|move)","from":"\/metadata\/(resourceVersion|uid)"/;
/** Matches a resource version or a UID, or a placeholder for such a value in a recording. */
const CHOSEN = /^(\d+|[\da-f-]{36}|<\w+(:\d+)?>)$/;

/** Matches the path of a list item in `managedFields`, with the value or the keys of the item. */
const LIST_ITEM = /\.managedFields\[.*\.(?:v:(-?\d+)|k:(\{.*\}))$/;

/** Returns true if a list item has an integer that a floating-point number cannot represent exactly. */
function isLargeItem(path: string): boolean {
  const [, value, keys] = LIST_ITEM.exec(path) ?? [];
  const integers = value === undefined ? (keys?.match(/(?<=:)-?\d+(?=[,}])/g) ?? []) : [value];
  return integers.some((each) => !Number.isSafeInteger(Number(each)));
}

const CLOCKS_MS = 60_000;

const sortedRules = (body: unknown, field: string): string => {
  const status = isJsonObject(body) && isJsonObject(body['status']) ? body['status'] : {};
  const list = status[field];
  return JSON.stringify(Array.isArray(list) ? list.map((rule) => JSON.stringify(rule)).toSorted() : list);
};

const rules: readonly Rule[] = [
  {
    name: 'node ports in Tables',
    reason:
      'A server picks node ports at random. The battery hides node ports in objects, but not in the cells of Tables.',
    matches: ({ failure }) =>
      failure.diffs.every(
        ([path, expected, actual]) =>
          /\.rows\[\d+\]\.cells\[\d+\]$/.test(path) &&
          expected !== withoutPicked(expected) &&
          withoutPicked(expected) === withoutPicked(actual),
      ),
  },
  {
    name: 'UIDs and versions that a JSON patch copies to another field',
    reason:
      'Both servers choose UIDs and versions. The battery hides UIDs and versions in the metadata, but not in other fields.',
    matches: ({ case: { steps }, step, failure }) =>
      steps.slice(0, step + 1).some(({ body }) => COPIED.test(JSON.stringify(body ?? null))) &&
      failure.diffs.every(([, expected, actual]) => [expected, actual].every((value) => CHOSEN.test(String(value)))),
  },
  {
    name: 'the end of a page that contains objects of other cases',
    reason:
      'The server returns a continue token if any object follows the page. Cases that run concurrently share the objects of the cluster.',
    matches: ({ request, failure }) =>
      !request.includes('/namespaces/') &&
      /[?&](label|field)Selector=/.test(request) &&
      failure.diffs.every(([path]) => /\.metadata\.continue$/.test(path)),
  },
  {
    name: 'the expiry of a token',
    reason: 'The servers answer at different moments, and the lifetime of a token starts with the response.',
    matches: ({ failure }) =>
      failure.diffs.every(
        ([path, expected, actual]) =>
          /\.status\.expirationTimestamp$/.test(path) &&
          Math.abs(Date.parse(String(expected)) - Date.parse(String(actual))) <= CLOCKS_MS,
      ),
  },
  {
    name: 'large integers in the field paths of a manager',
    reason:
      'kube-apiserver reads the value or the keys of a list item as floats, which rounds large integers. The embedded control plane keeps all digits.',
    matches: ({ failure }) =>
      failure.diffs.some(([path]) => isLargeItem(path)) &&
      failure.diffs.every(([path]) => isLargeItem(path) || /\.metadata\.resourceVersion$/.test(path)),
  },
  {
    name: 'the order of rules in a SelfSubjectRulesReview',
    reason: 'kube-apiserver reads the bindings of a user from a Go map, so the order of their rules is random.',
    matches: ({ failure, expected, actual }) =>
      failure.diffs.every(([path]) => /\.body\.status\.(r|nonR)esourceRules\b/.test(path)) &&
      ['resourceRules', 'nonResourceRules'].every(
        (field) => sortedRules(expected.body, field) === sortedRules(actual.body, field),
      ),
  },
  {
    name: 'the permissions of aggregated roles',
    reason:
      'Both servers run without controllers, and kube-apiserver creates the aggregated roles without rules. The embedded control plane creates these roles with their rules.',
    matches: ({ case: { steps }, step, actual }) =>
      actual.status === 403 &&
      JSON.stringify(actual.body ?? actual.text ?? '').includes(
        'is attempting to grant RBAC permissions not currently held',
      ) &&
      /"kind":"ClusterRole","name":"(admin|edit|view)"/.test(JSON.stringify(steps.slice(0, step + 1))),
  },
  {
    name: 'the order of errors in a CRD, and generated type names',
    reason:
      'kube-apiserver validates properties in the random order of a Go map, and the type of `self` has a random name.',
    matches: ({ request, failure, expected, actual }) =>
      request.includes('/customresourcedefinitions') &&
      failure.diffs.every(([path]) => /^\.body\.(message$|details\.causes\b)/.test(path)) &&
      sortedCauses(expected.body) === sortedCauses(actual.body),
  },
];

const SELF_TYPE = /selfType\d*/g;

/** Returns the errors of a refused CRD in a fixed order, with generated names removed. */
function sortedCauses(body: unknown): string {
  const details = isJsonObject(body) && isJsonObject(body['details']) ? body['details'] : {};
  const causes = Array.isArray(details['causes']) ? details['causes'] : [body];
  return causes
    .map((cause) => JSON.stringify(cause).replace(SELF_TYPE, 'selfType'))
    .toSorted()
    .join();
}

export const ruleOf = (difference: Difference): Rule | undefined => rules.find((rule) => rule.matches(difference));
