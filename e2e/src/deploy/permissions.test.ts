import { Labels, machineDeployments } from '@mcm/api';
import { applyObjects, DEFAULT_INSTALL, installSections, separated } from '@mcm/cli';
import {
  createAccess,
  createClient,
  createMemoryLogger,
  keepSelfMadeCertificates,
  nodes,
  runElected,
  seededRandom,
  type Transport,
} from '@mcm/kube';
import { expect, test } from 'vitest';
import { NAMESPACE, type ProcessName, World, type WorldOptions } from '../simulation/world/world.ts';
import { allowedBy, neededPermissions, type RoleObject } from './needed-permissions.ts';

/** Runs both controllers with the ServiceAccount and the roles of the installation. */

const MINUTE = 60_000;
const USER = `system:serviceaccount:${NAMESPACE}:machine-controller-manager`;

const objectsOf = (settings: typeof DEFAULT_INSTALL, ...sections: readonly string[]): readonly object[] =>
  installSections(settings)
    .filter(({ name }) => ['rbac', 'target-rbac', 'webhooks', ...sections].includes(name))
    .flatMap(({ objects }) => objects);

const installed = objectsOf(DEFAULT_INSTALL);
const separate = objectsOf(separated(DEFAULT_INSTALL), 'separate-controller').filter(
  (object) => 'kind' in object && /Role|ServiceAccount/.test(String(object.kind)),
);

const isRole = (object: object): object is RoleObject => 'rules' in object;
const roles = installed.filter(isRole);
const isManagers = ({ metadata: { name } }: RoleObject): boolean => name.startsWith('machine-controller-manager');

const allowed: Readonly<Record<ProcessName, ReadonlySet<string>>> = {
  manager: allowedBy(roles.filter(isManagers)),
  'machine-controller': allowedBy(
    roles.filter(
      (role) => !isManagers(role) || role.metadata.name === `machine-controller-manager-access.${NAMESPACE}`,
    ),
  ),
};

/** Permissions that a process does not use in the test, with the reasons why the process needs them. */
const JUSTIFIED: Readonly<Record<string, string>> = {
  'default machine.sapcloud.io/machinedeployments get':
    'read live before an orphan set is claimed and before a selection is taken off a node',
  'default machine.sapcloud.io/machines get': 'read live when a machine of that name is there, or an answer was lost',
  'default machine.sapcloud.io/machines/status patch': 'a scale-up starts a warm machine',
  '* autoscaling.x-k8s.io/capacitybuffers list': 'only with the flag --capacity-buffers',
  '* autoscaling.x-k8s.io/capacitybuffers watch': 'only with the flag --capacity-buffers',
  '* /podtemplates list': 'only with the flag --capacity-buffers',
  '* /podtemplates watch': 'only with the flag --capacity-buffers',
  'default /secrets get': 'another replica was first to make the certificates',
};

const used: Record<ProcessName, Set<string>> = { manager: new Set(), 'machine-controller': new Set() };
const refused = new Set<string>();
const beyond = new Set<string>();

const asServiceAccount = (name: ProcessName, transport: Transport): Transport =>
  async function ask(request) {
    const answer = await transport({ ...request, headers: { ...request.headers, 'impersonate-user': USER } });
    const asked = neededPermissions(request.method, request.path);
    if (answer.status === 403) refused.add(`${name}: ${request.method} ${request.path}`);
    const hit = asked.find((each) => allowed[name].has(each));
    if (hit !== undefined) used[name].add(hit);
    else if (asked.length > 0) beyond.add(`${name}: ${asked[0]}`);
    return answer;
  };

async function inWorld(options: WorldOptions, story: (world: World) => Promise<void>): Promise<void> {
  const world = await World.start({
    ...options,
    wrap: asServiceAccount,
    furnish: async (admin) => {
      await applyObjects(admin, options.isSeparate ? separate : installed, {
        force: false,
        signal: new AbortController().signal,
      });
    },
  });
  try {
    await story(world);
    expect(world.violations, world.reporter.tell()).toEqual([]);
  } finally {
    await world.close();
  }
}

const roll = (world: World) => world.change({ template: { spec: { class: { name: 'green' } } } });

test('the manager may roll out, scale and delete deployments, create and delete sets, and replace failed machines', async () => {
  await inWorld({ maxSurge: 1, reports: true }, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    await roll(world);
    await world.untilSettled(2, 'green');
    const [victim] = await world.machines();
    await world.failMachine(victim?.metadata.name ?? '');
    await world.clock.advance(MINUTE);
    await world.untilSettled(2, 'green');
    // Rolls the MachineDeployment back to its earlier template with the field `rollbackTo`.
    const deployment = world.admin.resource(machineDeployments, NAMESPACE);
    await deployment.patch('workers', { type: 'merge', body: { spec: { rollbackTo: { revision: 1 } } } });
    await world.until(async () => (await world.deployment()).spec.template.spec.class.name === 'blue');
    await roll(world);
    await world.untilSettled(2, 'green');
    await world.change({ template: { spec: { class: { name: 'nobody-made-it' } } } });
    await world.clock.advance(MINUTE);
    await roll(world);
    await world.untilSettled(2, 'green');
    await deployment.patch('workers', { type: 'merge', body: { spec: { revisionHistoryLimit: 0 } } });
    await world.clock.advance(MINUTE);
    await world.change({ replicas: 1 });
    await world.untilSettled(1, 'green');
    await world.deleteDeployment();
    await world.until(async () => (await world.machines()).length === 0);
    await world.clock.advance(MINUTE);
  });
});

test('the manager may update nodes in place', async () => {
  await inWorld({ inPlace: 'Manual', maxSurge: 0, maxUnavailable: 1 }, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    await roll(world);
    const api = world.admin.resource(nodes);
    const candidates = async () =>
      (await api.list()).items.filter(({ metadata }) => metadata.labels?.[Labels.CandidateForUpdate] !== undefined);
    await world.until(async () => (await candidates()).length === 2);
    const [first] = await candidates();
    const labels = { [Labels.SelectedForUpdate]: 'true' };
    await api.patch(first?.metadata.name ?? '', { type: 'merge', body: { metadata: { labels } } });
    await world.clock.advance(10 * MINUTE);
  });
});

test('the manager may elect a leader, store webhook certificates, and check access to metrics', async () => {
  await inWorld({}, async (world) => {
    const { clock } = world;
    const log = createMemoryLogger();
    const random = seededRandom(1);
    const transport = asServiceAccount('manager', world.transport());
    const client = createClient({ transport, userAgent: 'manager', clock, random });
    const stop = new AbortController();
    const terms = (name: string, identity: string) =>
      runElected(
        {
          client,
          lease: { namespace: NAMESPACE, name },
          identity,
          follow: true,
          clock,
          random,
          log,
          signal: stop.signal,
        },
        (term) => new Promise<void>((resolve) => term.addEventListener('abort', () => resolve(), { once: true })),
      );
    const election = terms('machine-controller-manager', 'me');
    await clock.settle();
    const standby = terms('machine-controller-manager', 'another');
    let pairs = 0;
    const keep = (name: string) =>
      keepSelfMadeCertificates(
        {
          client,
          namespace: NAMESPACE,
          secret: 'machine-controller-manager-webhooks',
          names: [name],
          configurations: `machine-controller-manager.${NAMESPACE}`,
          clock,
          random,
          log,
          use: () => {
            pairs += 1;
          },
        },
        stop.signal,
      );
    const kept = keep('one.default.svc');
    await world.until(() => Promise.resolve(pairs > 0));
    // The certificate in the Secret now has a wrong name. The manager issues a new certificate, as after an expiry, and
    // writes the certificate to the Secret.
    const keptAgain = keep('two.default.svc');
    await world.until(() => Promise.resolve(pairs > 1));
    await clock.advance(MINUTE);
    const access = createAccess({ client: () => client, clock, log });
    const asked = { remoteAddress: '10.0.0.7', path: '/metrics', verb: 'get' };
    expect(await access({ ...asked, authorization: 'Bearer nobody-issued-this' })).toMatchObject({ status: 401 });
    const made = await world.admin.request<{ readonly status: { readonly token: string } }>(
      'POST',
      `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/machine-controller-manager/token`,
      { body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} } },
    );
    expect(await access({ ...asked, authorization: `Bearer ${made.status.token}` })).toMatchObject({ status: 403 });
    stop.abort(new Error('the process stops'));
    await Promise.all([election, standby, kept, keptAgain]);
    expect(log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

test('with separate pods, each program has a ServiceAccount with only its own roles', async () => {
  const bound = separate as readonly (RoleObject & {
    readonly subjects?: readonly { readonly name: string }[];
  })[];
  const rolesOf = (account: string) => {
    const names = bound
      .filter(({ subjects = [] }) => subjects.some(({ name }) => name === account))
      .map(({ kind, metadata }) => `${kind.replace('Binding', '')} ${metadata.namespace ?? ''}/${metadata.name}`);
    return bound.filter(({ kind, metadata }) => names.includes(`${kind} ${metadata.namespace ?? ''}/${metadata.name}`));
  };
  expect(allowedBy(rolesOf('machine-controller-manager'))).toEqual(allowed.manager);
  expect(allowedBy(rolesOf('machine-controller'))).toEqual(allowed['machine-controller']);
  const forbidden = [...allowed['machine-controller'].difference(allowed.manager)];
  expect(forbidden).toEqual(
    expect.arrayContaining(['* /pods/eviction create', 'kube-system /secrets get', '* /nodes delete']),
  );
  // The roles of the installation are sufficient for the whole life of a fleet.
  await inWorld({ maxSurge: 1, isSeparate: true }, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    await roll(world);
    await world.untilSettled(2, 'green');
    await world.change({ replicas: 1 });
    await world.untilSettled(1, 'green');
  });
});

test('no request was refused or outside of the roles of its container, and all permissions of the manager are used or justified', () => {
  expect([...refused]).toEqual([]);
  expect([...beyond]).toEqual([]);
  const unused = [...allowed.manager].filter((each) => !used.manager.has(each) && JUSTIFIED[each] === undefined);
  expect(unused).toEqual([]);
  // A justification is outdated if the manager uses the permission, or if no role contains the permission.
  expect(Object.keys(JUSTIFIED).filter((each) => used.manager.has(each) || !allowed.manager.has(each))).toEqual([]);
});
