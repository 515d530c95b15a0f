import { startControlPlane } from '@mcm/control-plane';
import { createClient, handlerTransport, VirtualClock } from '@mcm/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { yamlStream } from '../output/format.ts';
import { applyObjects } from './apply.ts';
import { chartFiles } from './chart/chart.ts';
import { kustomizeFiles } from './chart/kustomize.ts';
import { installSections } from './objects/objects.ts';
import { DEFAULT_INSTALL, OPTIONAL_SECTIONS } from './objects/settings.ts';

const clock = new VirtualClock();
let plane: Awaited<ReturnType<typeof startControlPlane>>;
beforeAll(async () => {
  plane = await startControlPlane({ port: 0, clock, controllers: false });
});
afterAll(() => plane.close());
const client = () => createClient({ transport: handlerTransport(plane.fetch), userAgent: 'test', clock });

const sections = (namespace = 'default') => installSections({ ...DEFAULT_INSTALL, namespace });
/** Without those of the Prometheus operator, whose kinds no plain cluster has. */
const installable = () =>
  sections()
    .filter(({ name }) => name !== 'monitoring')
    .flatMap(({ objects }) => objects);
const options = { force: false, signal: new AbortController().signal };

describe('an installation', () => {
  test('is taken by the API server as it is, and a second time changes nothing', async () => {
    await applyObjects(client(), installable(), options);
    await clock.advance(1_000); // CRDs are established.
    const first = await applyObjects(client(), installable(), options);
    expect(first.length).toBe(installable().length);
    expect(await applyObjects(client(), installable(), options)).toEqual(first);
  });

  test('ends at a kind that the cluster does not have, and says which, what would help, and what is applied by then', async () => {
    const monitored = [
      ...installable(),
      ...sections().flatMap(({ name, objects }) => (name === 'monitoring' ? objects : [])),
    ];
    const done: string[] = [];
    const onApplied = ({ what }: { what: string }) => done.push(what);
    await expect(applyObjects(client(), monitored, { ...options, onApplied })).rejects.toThrow(
      /^servicemonitor\/\S+: the cluster has no ServiceMonitor \(monitoring.coreos.com\/v1\); install what brings it, or leave it out of --with$/,
    );
    expect(done.length).toBe(installable().length);
  });

  test('that meets fields of others says whose they are and how to take them over', async () => {
    const [deployment] = installable().filter((object) => 'kind' in object && object.kind === 'Deployment');
    const other = structuredClone(JSON.parse(JSON.stringify(deployment))) as { spec: { replicas: number } };
    other.spec.replicas = 7;
    const path =
      '/apis/apps/v1/namespaces/default/deployments/machine-controller-manager?fieldManager=somebody&force=true';
    await client().request('PATCH', path, { body: other, contentType: 'application/apply-patch+yaml' });
    await expect(applyObjects(client(), installable(), options)).rejects.toThrow(
      /^deployment\/machine-controller-manager: .*somebody.*replicas.*--force-conflicts$/s,
    );
    await applyObjects(client(), installable(), { ...options, force: true });
  });

  test('a provider ID and the finalizer are the controller’s with the policies', async () => {
    await applyObjects(client(), installable(), options);
    await clock.advance(1_000); // A policy takes effect a moment later.
    const api = '/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines';
    await client().request('POST', api, {
      body: {
        apiVersion: 'machine.sapcloud.io/v1alpha1',
        kind: 'Machine',
        metadata: { name: 'm', finalizers: ['machine.sapcloud.io/machine-controller-manager'] },
        spec: { class: { kind: 'MachineClass', name: 'c' }, providerID: 'local:///z/i-1' },
      },
    });
    const patch = (body: object) =>
      client().request('PATCH', `${api}/m`, { body, contentType: 'application/merge-patch+json' });
    await expect(patch({ spec: { providerID: 'local:///z/i-2' } })).rejects.toThrow(
      'only the machine controller may change it',
    );
    await expect(patch({ metadata: { finalizers: null } })).rejects.toThrow(
      'only the machine controller may take its finalizer off',
    );
    await expect(patch({ metadata: { labels: { a: 'b' } } })).resolves.toBeDefined();
  });

  test('names all that may be asked for: what is optional, and comes with its part of the other cluster', () => {
    const optional = sections().flatMap(({ name, optional }) => (optional === true ? [name] : []));
    expect(optional.filter((name) => !name.endsWith('-target'))).toEqual(OPTIONAL_SECTIONS);
  });

  test('of the control part alone and of the target part alone are together the whole', () => {
    const of = (cluster: string) =>
      sections()
        .filter((section) => section.cluster === cluster)
        .flatMap(({ objects }) => objects);
    expect(of('control').length + of('target').length).toBe(sections().flatMap(({ objects }) => objects).length);
    expect(
      of('target').every((object) => 'kind' in object && /Role|ServiceAccount|DaemonSet/.test(String(object.kind))),
    ).toBe(true);
  });
});

test('installations in two namespaces of a cluster have no object in common but the CRDs', () => {
  const named = (namespace: string): ReadonlySet<string> =>
    new Set(
      sections(namespace)
        .filter(({ name }) => !name.startsWith('machine-config'))
        .flatMap(({ objects }) => JSON.parse(JSON.stringify(objects)))
        .filter(({ kind }) => kind !== 'CustomResourceDefinition')
        .map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`),
    );
  expect(named('one').size).toBeGreaterThan(20);
  expect([...named('one').intersection(named('two'))]).toEqual([]);
  // What is cluster-wide looks at its own namespace alone.
  for (const { kind, ...rest } of JSON.parse(JSON.stringify(sections('one').flatMap(({ objects }) => objects)))) {
    const selectors = kind.endsWith('WebhookConfiguration')
      ? rest.webhooks.map((webhook: { namespaceSelector: unknown }) => webhook.namespaceSelector)
      : kind === 'ValidatingAdmissionPolicy'
        ? [rest.spec.matchConstraints.namespaceSelector]
        : [];
    for (const each of selectors) expect(each).toEqual({ matchLabels: { 'kubernetes.io/metadata.name': 'one' } });
  }
});

test('every template of the chart is one of the base’s files with places to fill in', () => {
  const chart = chartFiles('1.2.3');
  const kustomize = kustomizeFiles();
  const kinds = (text: string): string[] => text.match(/^kind: .*$/gm) ?? [];
  for (const { name } of sections().filter((section) => section.name !== 'crds')) {
    const file = kustomize.get(`base/${name}.yaml`) ?? kustomize.get(`${name}/${name}.yaml`) ?? '';
    expect(kinds(chart.get(`templates/${name}.yaml`) ?? '')).toEqual(kinds(file));
  }
  expect([...chart.values()].join('\n')).not.toMatch(/__\w+__/);
});

test('the base is YAML that says what the objects say', () => {
  for (const { name, objects, optional } of sections()) {
    const text = kustomizeFiles().get(`${optional === true ? name : 'base'}/${name}.yaml`) ?? '';
    expect(parseAllDocuments(text).map((document) => document.toJS())).toEqual(JSON.parse(JSON.stringify(objects)));
    expect(text).toBe(yamlStream(objects));
  }
});

test('a pod is nobody in particular, writes nowhere and asks for what it needs', () => {
  const text = yamlStream(sections().find(({ name }) => name === 'workload')?.objects ?? []);
  for (const words of [
    'runAsNonRoot: true',
    'readOnlyRootFilesystem: true',
    'allowPrivilegeEscalation: false',
    '- ALL',
  ]) {
    expect(text).toContain(words);
  }
  expect(text).not.toMatch(/limits:\n +cpu/);
});

test('the daemon of a node is a pod of every Linux node, with the machine’s root, that says which', () => {
  const [account, set] = sections('mine').find(({ name }) => name === 'machine-config-daemon')?.objects ?? [];
  expect(account).toMatchObject({
    kind: 'ServiceAccount',
    metadata: { name: 'machine-config-daemon', namespace: 'mine' },
  });
  expect(set).toMatchObject({ kind: 'DaemonSet', metadata: { namespace: 'mine' } });
  const { spec } = JSON.parse(JSON.stringify(set)).spec.template;
  expect(spec.tolerations).toEqual([{ operator: 'Exists' }]);
  const [{ args, volumeMounts, securityContext }] = spec.containers;
  expect(args).toEqual(['--node-name=$(NODE_NAME)', '--root-mount=/rootfs', '--secure-port=10271']);
  expect(volumeMounts).toContainEqual(expect.objectContaining({ name: 'root', mountPath: '/rootfs' }));
  expect([securityContext.privileged, spec.hostPID]).toEqual([true, true]);
});

test('daemons whose configs are in another cluster have a ServiceAccount there, which may read configs and nothing of nodes', () => {
  const objects = JSON.parse(JSON.stringify(sections('mine'))) as {
    cluster: string;
    objects: {
      kind: string;
      metadata: { name: string; namespace?: string };
      subjects?: { kind: string; name: string }[];
      rules?: { resources: string[] }[];
    }[];
  }[];
  const bound = (cluster: string, account: string) => {
    const all = objects.filter((section) => section.cluster === cluster).flatMap((section) => section.objects);
    const roles = all.filter(({ subjects }) =>
      subjects?.some(({ kind, name }) => kind === 'ServiceAccount' && name === account),
    );
    const names = new Set(roles.map(({ metadata }) => metadata.name));
    return {
      accounts: all.filter(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === account).length,
      resources: all
        .flatMap(({ metadata, rules = [] }) =>
          names.has(metadata.name) ? rules.flatMap(({ resources }) => resources) : [],
        )
        .toSorted(),
    };
  };
  const configs = ['machineconfigpools', 'machineconfigs', 'subjectaccessreviews', 'tokenreviews'];
  expect(bound('control', 'machine-config-daemon-control')).toEqual({ accounts: 1, resources: configs });
  expect(bound('target', 'machine-config-daemon-control')).toEqual({ accounts: 0, resources: [] });
  // One cluster has both parts: the same account, once.
  expect(bound('target', 'machine-config-daemon')).toEqual({ accounts: 1, resources: ['events', 'nodes'] });
  expect(bound('control', 'machine-config-daemon')).toEqual({ accounts: 0, resources: configs });
});
