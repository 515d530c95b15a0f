import type { Draw } from './draw.ts';
import { type JsonObject, onlyIf } from './json.ts';
import type { Step } from './step.ts';

const USER = 'u-${id}';
const HEADERS: Readonly<Record<string, string>> = { 'impersonate-user': USER };
const WAIT_MS = 5000;

const ROLES = '/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}';
const VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'escalate',
  'bind',
  '*',
];
const GROUPS = ['', 'apps', 'batch', 'rbac.authorization.k8s.io', 'policy', '*'];
const RESOURCES = [
  'pods',
  'configmaps',
  'secrets',
  'deployments',
  'deployments/scale',
  'roles',
  'rolebindings',
  'jobs',
  'pods/status',
  '*/scale',
  '*',
];

const someOf = (draw: Draw, list: readonly string[]): string[] => [
  draw.pick(list),
  ...list.filter(() => draw.chance(0.2)),
];

const ruleOf = (draw: Draw): JsonObject => ({
  apiGroups: someOf(draw, GROUPS),
  resources: someOf(draw, RESOURCES),
  verbs: someOf(draw, VERBS),
  ...onlyIf(draw.chance(0.2), { resourceNames: [draw.pick(['a', 'b'])] }),
}); // prettier-ignore

/** Returns the steps that give the user of a fuzz case a role. */
export const grant = (draw: Draw): readonly Step[] => [
  {
    request: `POST ${ROLES}/roles`,
    body: {
      metadata: { name: 'granted' },
      rules: [
        { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['list'] },
        ...Array.from({ length: 1 + draw.int(4) }, () => ruleOf(draw)),
      ],
    },
  },
  {
    request: `POST ${ROLES}/rolebindings`,
    body: {
      metadata: { name: 'granted' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'granted' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: USER }],
    },
  },
  {
    request: 'GET /api/v1/namespaces/${ns}/serviceaccounts',
    headers: HEADERS,
    eventually: { until: { status: 200 }, timeout: WAIT_MS },
  },
];

/** Returns a copy of a step that the fuzz case sends as its user with few permissions. */
export const asUser = (step: Step): Step =>
  step.request === undefined ? step : { ...step, headers: { ...step.headers, ...HEADERS } };
