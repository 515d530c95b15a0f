import { startControlPlane } from '@mcm/control-plane';
import {
  booleanFlag,
  createClient,
  durationFlag,
  handlerTransport,
  integerFlag,
  textFlag,
  VirtualClock,
} from '@mcm/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { yamlStream } from '../output/format.ts';
import { applyObjects, checkObjects } from './apply.ts';
import { chartFiles } from './chart/chart.ts';
import type { ProgramFlags } from './chart/chart-flags.ts';
import { kustomizeFiles } from './chart/kustomize.ts';
import { isConfigMonitor } from './objects/monitoring.ts';
import { installSections } from './objects/objects.ts';
import { DEFAULT_INSTALL, OPTIONAL_SECTIONS, separated } from './objects/settings.ts';
import { type InstallFlags, install } from './run.ts';

const clock = new VirtualClock();
let plane: Awaited<ReturnType<typeof startControlPlane>>;
beforeAll(async () => {
  plane = await startControlPlane({ port: 0, clock, controllers: false });
});
afterAll(() => plane.close());
const client = () => createClient({ transport: plane.transport, userAgent: 'test', clock });

const sections = (namespace = 'default') => installSections({ ...DEFAULT_INSTALL, namespace });
const installable = () =>
  sections()
    .filter(({ name }) => name !== 'monitoring')
    .flatMap(({ objects }) => objects);
const FLAGS: ProgramFlags = {
  manager: { up: integerFlag({ min: 0, default: 0, help: 'count', deprecated: { older: 'use --up' } }) },
  controllers: {
    aws: { region: textFlag({ default: '', help: 'region' }) },
    gcp: { zone: textFlag({ default: '', help: 'zone' }) },
  },
  configController: { every: durationFlag({ default: 0, help: 'time' }) },
  configDaemon: { reboot: booleanFlag({ default: false, help: 'reboot' }) },
};
const options = { force: false, signal: new AbortController().signal };

describe('an installation', () => {
  test('an installation is accepted by the API server, and a second run changes nothing', async () => {
    await applyObjects(client(), installable(), options);
    await clock.advance(1_000);
    const first = await applyObjects(client(), installable(), options);
    expect(first.length).toBe(installable().length);
    expect(await applyObjects(client(), installable(), options)).toEqual(first);
  });

  test('an installation stops at a kind that the cluster does not have, with a hint and the objects applied so far', async () => {
    const monitored = [
      ...installable(),
      ...sections().flatMap(({ name, objects }) => (name === 'monitoring' ? objects : [])),
    ];
    const done: string[] = [];
    const onApplied = ({ what }: { what: string }) => done.push(what);
    await expect(applyObjects(client(), monitored, { ...options, onApplied })).rejects.toThrow(
      /^servicemonitor\/\S+: the cluster does not have the kind ServiceMonitor \(monitoring.coreos.com\/v1\); install its CRD, or remove the kind from --with$/,
    );
    expect(done.length).toBe(installable().length);
  });

  test('an installation reports a conflict with other field managers and how to overwrite their fields', async () => {
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

  test('nothing is applied if the server would refuse an object, and all problems are reported', async () => {
    const fresh = await startControlPlane({ port: 0, clock, controllers: false });
    const own = createClient({ transport: handlerTransport(fresh.fetch), userAgent: 'test', clock });
    const apply = (path: string, body: object) =>
      own.request('PATCH', `${path}?fieldManager=somebody`, { body, contentType: 'application/apply-patch+yaml' });
    const labels = { app: 'original' };
    await apply('/apis/apps/v1/namespaces/default/deployments/machine-controller-manager', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'machine-controller-manager', namespace: 'default' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'original' }] } },
      },
    });
    await apply('/api/v1/namespaces/default/services/machine-controller-manager', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'machine-controller-manager', namespace: 'default' },
      spec: { selector: labels, ports: [{ port: 443 }] },
    });
    const all = sections().flatMap(({ objects }) => objects);
    const check = checkObjects(own, all, options);
    await expect(check).rejects.toThrow(
      'deployment/machine-controller-manager: the existing Deployment has another selector, which cannot change. Save and delete this Deployment: kubectl -n default delete deployment machine-controller-manager --cascade=foreground',
    );
    await expect(check).rejects.toThrow(/^service\/machine-controller-manager: .*to overwrite .*--force-conflicts$/m);
    await expect(check).rejects.toThrow('the cluster does not have the kind ServiceMonitor');
    await expect(check).rejects.toThrow(/^no object was applied$/m);
    await expect(checkObjects(own, all, { ...options, createdNamespace: 'default' })).rejects.toThrow(
      /^no object was applied, but namespace\/default was created and remains$/m,
    );
    const crds = await own.request<{ items: readonly object[] }>(
      'GET',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      {},
    );
    expect(crds.items).toEqual([]);
    await fresh.close();
  });

  test('with the policies, only the controller can change a provider ID and the finalizer', async () => {
    await applyObjects(client(), installable(), options);
    await clock.advance(1_000); // A policy takes effect after a delay.
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
      'only the machine controller may change the field',
    );
    await expect(patch({ metadata: { finalizers: null } })).rejects.toThrow(
      'only the machine controller may remove the finalizer of mcm',
    );
    await expect(patch({ metadata: { labels: { a: 'b' } } })).resolves.toBeDefined();
  });

  test('--with accepts each optional part and installs it with its part for the target cluster', () => {
    const optional = sections().flatMap(({ name, optional }) => (optional === true ? [name] : []));
    expect(optional.filter((name) => !name.endsWith('-target'))).toEqual(OPTIONAL_SECTIONS);
  });

  test('the control part and the target part together are the whole installation', () => {
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

test('installations in two namespaces of a cluster share only the CRDs', () => {
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
  // The selectors in cluster-wide objects must match only the namespace of the installation.
  for (const { kind, ...rest } of JSON.parse(JSON.stringify(sections('one').flatMap(({ objects }) => objects)))) {
    const selectors = kind.endsWith('WebhookConfiguration')
      ? rest.webhooks.map((webhook: { namespaceSelector: unknown }) => webhook.namespaceSelector)
      : kind === 'ValidatingAdmissionPolicy'
        ? [rest.spec.matchConstraints.namespaceSelector]
        : [];
    for (const each of selectors) expect(each).toEqual({ matchLabels: { 'kubernetes.io/metadata.name': 'one' } });
  }
});

test('every template of the chart is a file of the kustomize base with placeholders', () => {
  const chart = chartFiles('1.2.3', FLAGS);
  const kustomize = kustomizeFiles();
  const kinds = (text: string): string[] => text.match(/^kind: .*$/gm) ?? [];
  for (const { name } of sections().filter((section) => section.name !== 'crds')) {
    const file = kustomize.get(`base/${name}.yaml`) ?? kustomize.get(`${name}/${name}.yaml`) ?? '';
    const templates = kinds(chart.get(`templates/${name}.yaml`) ?? '').filter((kind) => kind !== 'kind: PodMonitor');
    const [namespaced, cluster] = ['kind: RoleBinding', 'kind: ClusterRoleBinding'];
    if (name === 'fleet') expect(templates.splice(-4)).toEqual([namespaced, namespaced, cluster, namespaced]);
    // For kustomize, the monitor of the machine-config-controller is a separate component.
    const separate = kinds(kustomize.get(`${name}-machine-config/${name}-machine-config.yaml`) ?? '');
    for (const kind of separate) templates.splice(templates.indexOf(kind), 1);
    expect(separate).toEqual(name === 'monitoring' ? ['kind: ServiceMonitor'] : []);
    expect(templates).toEqual(kinds(file));
  }
  expect([...chart.values()].join('\n')).not.toMatch(/__\w+__/);
});

test('the schema of the chart contains each flag of the programs, with its older names', () => {
  const { properties, allOf } = JSON.parse(chartFiles('1.2.3', FLAGS).get('values.schema.json') ?? '');
  const { manager, controller, configController, configDaemon, dashboard } = properties.flags.properties;
  const flagsOf = (schema: object): readonly string[] => {
    expect(schema).toMatchObject({ additionalProperties: false });
    return Object.keys((schema as { properties: object }).properties);
  };
  expect(flagsOf(manager)).toEqual(['up', 'older']);
  expect(flagsOf(configController)).toEqual(['every']);
  expect(flagsOf(configDaemon)).toEqual(['reboot']);
  // The chart writes each flag as --name=value, so its values must not contain flags without a value, such as
  // --all-namespaces.
  expect(flagsOf(dashboard)).toContain('tls-cert-dir');
  expect(flagsOf(dashboard)).not.toContain('all-namespaces');
  expect(Object.keys(controller.properties)).toEqual(['region', 'zone']);
  const byProvider = allOf.map(
    (each: { if: { properties: { provider: { const: string } } }; then: typeof properties }) => [
      each.if.properties.provider.const,
      flagsOf(each.then.properties.flags.properties.controller),
    ],
  );
  expect(byProvider).toEqual([
    ['aws', ['region']],
    ['gcp', ['zone']],
  ]);
});

test('the chart mounts the Secret with the webhooks of hooks only in pods of the machine controller', () => {
  const lines = (name: string) =>
    (chartFiles('1.2.3', FLAGS).get(`templates/${name}.yaml`) ?? '').split('\n').map((line) => line.trim());
  const volume =
    '{{- if .Values.hookWebhooks.secret }} - name: hooks secret: secretName: {{ .Values.hookWebhooks.secret | quote }}';
  const shared = volume.replace(
    'if .Values.hookWebhooks.secret',
    'if and .Values.hookWebhooks.secret (not .Values.separateController.enabled)',
  );
  for (const [name, expected] of [
    ['workload', shared],
    ['separate-controller', volume],
    ['fleet', volume],
  ] as const) {
    const text = lines(name).join(' ');
    expect(text.split('- --hook-webhooks=/etc/mcm/hooks/webhooks.json {{- end }} {{- range')).toHaveLength(2);
    expect(text.split('- name: hooks mountPath: /etc/mcm/hooks readOnly: true {{- end }}')).toHaveLength(2);
    expect(text.split(`${expected} defaultMode: 288 {{- end }}`), name).toHaveLength(2);
  }
  for (const name of ['machine-config', 'machine-config-daemon', 'dashboard'])
    expect(lines(name).join(' ')).not.toContain('hookWebhooks');
});

test('the YAML of the base equals the objects', () => {
  const files = kustomizeFiles();
  for (const { name, objects: all, optional } of sections()) {
    const objects = all.filter((object) => !isConfigMonitor(object));
    const text = files.get(`${optional === true ? name : 'base'}/${name}.yaml`) ?? '';
    const separate = files.get(`${name}-machine-config/${name}-machine-config.yaml`) ?? '';
    expect(separate).toBe(all.length === objects.length ? '' : yamlStream(all.filter(isConfigMonitor)));
    expect(parseAllDocuments(text).map((document) => document.toJS())).toEqual(JSON.parse(JSON.stringify(objects)));
    expect(text).toBe(yamlStream(objects));
  }
});

test('with separate pods, each program has one Deployment, and no selector contains the pods of both', () => {
  interface Selecting {
    readonly kind: string;
    readonly metadata: { readonly name: string };
    readonly spec: {
      readonly selector?: { readonly matchLabels: object };
      readonly podSelector?: { readonly matchLabels: object };
      readonly template?: {
        readonly metadata: { readonly labels: Readonly<Record<string, string>> };
        readonly spec: {
          readonly serviceAccountName: string;
          readonly containers: readonly { readonly name: string }[];
        };
      };
    };
  }
  const made: readonly Selecting[] = JSON.parse(
    JSON.stringify(
      installSections(separated(DEFAULT_INSTALL))
        .filter(({ name }) => ['workload', 'network-policy', 'separate-controller'].includes(name))
        .flatMap(({ objects }) => objects),
    ),
  );
  const pods = made.flatMap(({ spec }) => spec?.template ?? []);
  expect(pods.map(({ spec }) => [spec.serviceAccountName, spec.containers.map(({ name }) => name)])).toEqual([
    ['machine-controller-manager', ['machine-controller-manager']],
    ['machine-controller', ['machine-controller']],
  ]);
  const selectors = made.flatMap(({ kind, metadata, spec }) => {
    const labels = spec?.podSelector?.matchLabels ?? spec?.selector?.matchLabels ?? spec?.selector;
    return labels === undefined ? [] : [[`${kind} ${metadata.name}`, Object.entries(labels)] as const];
  });
  expect(selectors).toHaveLength(8);
  for (const [name, labels] of selectors) {
    const selected = pods.filter(({ metadata }) => labels.every(([key, value]) => metadata.labels[key] === value));
    expect(
      selected.map(({ spec }) => spec.serviceAccountName),
      name,
    ).toEqual([name.split(' ')[1]]);
  }
});

test('a pod runs as non-root with a read-only file system and resource requests', () => {
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

test('the machine-config-daemon runs on every Linux node with its root file system, and gets the name of its node', () => {
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

test('a daemon with its configs in another cluster has a ServiceAccount there that may only read configs', () => {
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
  expect(bound('target', 'machine-config-daemon')).toEqual({ accounts: 1, resources: ['events', 'nodes'] });
  expect(bound('control', 'machine-config-daemon')).toEqual({ accounts: 0, resources: configs });
});

describe('the provider', () => {
  const printed = async (flags: Partial<InstallFlags>): Promise<string> => {
    const lines: string[] = [];
    const none = { with: [], managerFlag: [], controllerFlag: [] };
    const given = { dryRun: true, part: 'all', ...none, replicas: 2, output: 'text', ...flags } as InstallFlags;
    await install(given, { say: (line) => lines.push(line), signal: () => options.signal });
    return lines.join('\n');
  };

  describe('options for the pods', () => {
    interface Printed {
      readonly kind: string;
      readonly metadata: { readonly name: string; readonly annotations?: object };
      readonly spec: {
        readonly template: {
          readonly metadata: { readonly labels: object };
          readonly spec: { readonly nodeSelector?: object; readonly tolerations?: object };
        };
      };
    }
    const objects = async (flags: Partial<InstallFlags>): Promise<readonly Printed[]> =>
      parseAllDocuments(await printed({ provider: 'aws', ...flags })).map((document) => document.toJS() as Printed);
    const options = {
      toleration: [
        'node-role.kubernetes.io/control-plane:NoSchedule',
        'dedicated=mcm:NoExecute',
        'any',
        'empty=:NoSchedule',
      ],
      nodeSelector: ['node-role.kubernetes.io/control-plane=', 'kubernetes.io/os=linux'],
      podLabel: ['azure.workload.identity/use=true'],
      serviceAccountAnnotation: ['eks.amazonaws.com/role-arn=arn:aws:iam::111122223333:role/mcm'],
    };

    test.each([
      [[], ['machine-controller-manager'], 'machine-controller-manager'],
      [['separate-controller'], ['machine-controller-manager', 'machine-controller'], 'machine-controller'],
      [['fleet'], ['mcm-fleet'], 'mcm-fleet'],
      [
        ['machine-config', 'machine-config-daemon', 'dashboard'],
        ['machine-controller-manager', 'machine-config-controller', 'mcm-dashboard'],
        'machine-controller-manager',
      ],
    ])(
      'the options with --with %j apply to the pods, and to the ServiceAccount of the machine controller',
      async (parts, names, account) => {
        const installed = await objects({ with: parts, ...options });
        const pods = installed.filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind));
        expect(pods.map(({ metadata }) => metadata.name)).toEqual(names);
        for (const { spec } of pods) {
          expect(spec.template.spec).toMatchObject({
            nodeSelector: { 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/os': 'linux' },
            tolerations: [
              { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' },
              { key: 'dedicated', operator: 'Equal', value: 'mcm', effect: 'NoExecute' },
              { key: 'any', operator: 'Exists' },
              { key: 'empty', operator: 'Equal', value: '', effect: 'NoSchedule' },
            ],
          });
          expect(spec.template.metadata.labels).toMatchObject({
            'app.kubernetes.io/part-of': 'mcm',
            'azure.workload.identity/use': 'true',
          });
        }
        const annotated = installed.filter(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.annotations);
        expect(annotated.map(({ metadata }) => metadata)).toEqual([
          expect.objectContaining({
            name: account,
            annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::111122223333:role/mcm' },
          }),
        ]);
        const daemons = installed.filter(({ kind }) => kind === 'DaemonSet');
        expect(daemons.map(({ spec }) => spec.template.spec.tolerations)).toEqual(
          daemons.map(() => [{ operator: 'Exists' }]),
        );
      },
    );

    test('without the options, the pods have no node selector, no toleration and no additional label', async () => {
      const none = { toleration: [], nodeSelector: [], podLabel: [], serviceAccountAnnotation: [] };
      expect(await objects(none)).toEqual(await objects({}));
      const [pod] = (await objects({})).filter(({ kind }) => kind === 'Deployment');
      expect(Object.keys(pod?.spec.template.spec ?? {})).not.toEqual(expect.arrayContaining(['nodeSelector']));
      expect(Object.keys(pod?.spec.template.spec ?? {})).not.toEqual(expect.arrayContaining(['tolerations']));
    });

    test.each([
      [{ toleration: ['a=b:Never'] }, '--toleration must be key, key:effect or key=value:effect, such as'],
      [{ toleration: [''] }, '--toleration must be key, key:effect'],
      [{ nodeSelector: ['linux'] }, '--node-selector must be name=value, such as kubernetes.io/os=linux, not "linux"'],
      [{ podLabel: ['app.kubernetes.io/name=x'] }, '--pod-label must not set app.kubernetes.io/name'],
      [{ serviceAccountAnnotation: ['x'] }, '--service-account-annotation must be name=value'],
    ])('the invalid option %j is refused with its format', async (flags, message) => {
      await expect(printed({ provider: 'aws', ...flags })).rejects.toThrow(message);
    });
  });

  test('the provider has no default, and a provider without an image by convention needs its image', async () => {
    await expect(printed({})).rejects.toThrow(
      /^--provider must be set: aws, azure, gcp, local, or the name of another/,
    );
    await expect(printed({ provider: 'mine' })).rejects.toThrow('--controller-image must be set for the provider mine');
    await expect(printed({ provider: 'My Cloud' })).rejects.toThrow('--provider must be a lower-case name');
    expect(await printed({ provider: 'mine', controllerImage: 'own:1' })).toContain('image: own:1');
    expect(await printed({ provider: 'gcp' })).toContain('image: mcm/machine-controller-gcp:0.1.0');
  });

  test('--with separate-controller binds the roles of the machine controller to its own ServiceAccount in both parts', async () => {
    const given = { provider: 'aws', with: ['separate-controller'] };
    const subjects = (text: string) => text.match(/(?<=ServiceAccount\n {4}name: ).*/g) ?? [];
    const count = (text: string, name: string) => subjects(text).filter((one) => one === name).length;
    const [control, target] = [
      await printed({ ...given, part: 'control' }),
      await printed({ ...given, part: 'target' }),
    ];
    expect(control.match(/kind: Deployment/g)).toHaveLength(2);
    expect([count(target, 'machine-controller'), count(target, 'machine-controller-manager')]).toEqual([3, 1]);
    expect(count(control, 'machine-controller')).toBe(2);
    expect(count(await printed({ provider: 'aws' }), 'machine-controller')).toBe(0);
  });

  test('--with fleet installs one StatefulSet in place of the objects of a single pod, and no role for all namespaces', async () => {
    const text = await printed({ provider: 'aws', with: ['fleet'], managerFlag: ['safety-up=3'] });
    const objects: readonly { kind: string; metadata: { name: string }; roleRef?: { name: string } }[] =
      parseAllDocuments(text).map((document) => document.toJS());
    const named = objects
      .filter(({ kind }) => kind !== 'CustomResourceDefinition')
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(named.toSorted()).toEqual([
      'ClusterRole mcm-fleet-cluster-api.default',
      'ClusterRole mcm-fleet-cluster-profiles.default',
      'ClusterRole mcm-fleet-cluster.default',
      'ClusterRole mcm-fleet-hand-over.default',
      'ClusterRole mcm-fleet-metrics.default',
      'ClusterRole mcm-fleet.default',
      'ClusterRoleBinding mcm-fleet.default',
      'FlowSchema machine-controller-manager.default',
      'FlowSchema mcm-fleet.default',
      'NetworkPolicy mcm-fleet',
      'PodDisruptionBudget mcm-fleet',
      'PriorityLevelConfiguration machine-controller-manager.default',
      'Role mcm-fleet',
      'RoleBinding mcm-fleet',
      'Service mcm-fleet',
      'ServiceAccount mcm-fleet',
      'StatefulSet mcm-fleet',
    ]);
    expect(objects.flatMap(({ roleRef }) => roleRef?.name ?? [])).not.toContain('mcm-fleet-cluster.default');
    expect(text.match(/ - --(fleet|safety|target|webhook).*/g)).toEqual([
      ' - --fleet-namespaces=mcm-fleet=aws',
      ' - --fleet-replica=$(REPLICA)',
      ' - --safety-up=3',
      ' - --fleet-namespaces=mcm-fleet=aws',
      ' - --fleet-replica=$(REPLICA)',
    ]);
    const found = await printed({ provider: 'aws', with: ['fleet'], fleetClusters: 'mcm-fleet=aws' });
    expect(found.match(/ - --fleet-[cn].*/g)).toEqual(Array(2).fill(' - --fleet-clusters=mcm-fleet=aws'));
    expect(found).toContain('kind: ClusterRoleBinding\nmetadata:\n  name: mcm-fleet-cluster-api.default');
    const profiles = await printed({ provider: 'aws', with: ['fleet'], fleetClusterProfiles: 'mcm-fleet=aws' });
    expect(profiles.match(/ - --fleet-[cn].*/g)).toEqual(Array(2).fill(' - --fleet-cluster-profiles=mcm-fleet=aws'));
    expect(profiles).toContain('kind: RoleBinding\nmetadata:\n  name: mcm-fleet-cluster-profiles.default');
    await expect(printed({ provider: 'aws', fleetClusters: 'a=b' })).rejects.toThrow(
      '--fleet-clusters needs --with fleet',
    );
    const both = { fleetClusters: 'a=b', fleetClusterProfiles: 'a=b' };
    await expect(printed({ provider: 'aws', with: ['fleet'], ...both })).rejects.toThrow('cannot be combined');
    expect(await printed({ provider: 'aws', with: ['fleet'], part: 'target' })).toContain(
      'name: machine-controller-nodes.default',
    );
    await expect(printed({ provider: 'aws', with: ['fleet', 'separate-controller'] })).rejects.toThrow(
      '--with must not contain both fleet and separate-controller',
    );
  });

  test('flags of the programs are arguments of their containers, and are checked', async () => {
    const flags = { managerFlag: ['safety-up=3', '--autoscaler-scaledown-annotation-during-rollout=false'] };
    const text = await printed({ provider: 'aws', ...flags, controllerFlag: ['machine-drain-timeout=1h'] });
    expect(text.match(/ - --(safety-up|autoscaler|machine-drain).*/g)).toEqual([
      ' - --safety-up=3',
      ' - --autoscaler-scaledown-annotation-during-rollout=false',
      ' - --machine-drain-timeout=1h',
    ]);
    const own = { provider: 'mine', controllerImage: 'own:1', controllerFlag: ['mine-region=x'] };
    expect(await printed(own)).toContain(' - --mine-region=x');
    const fleet = { managerFlag: ['fleet-cache-limit=200'], controllerFlag: ['fleet-cache-limit=200'] };
    expect(
      (await printed({ provider: 'aws', with: ['fleet'], ...fleet })).match(/--fleet-cache-limit=200/g),
    ).toHaveLength(2);
    for (const [flag, problem] of [
      ['machine-drain-timeout', '--controller-flag must be name=value'],
      ['machine-drain-timeout=soon', '--controller-flag: --machine-drain-timeout must be'],
      ['machine-drain-timout=1h', '--controller-flag: .*machine-drain-timeout'],
      ['namespace=other', '--controller-flag must not set namespace: use --namespace'],
    ] as const)
      await expect(printed({ provider: 'aws', controllerFlag: [flag] })).rejects.toThrow(new RegExp(problem));
  });

  test('the provider is not needed for the roles of the target cluster', async () => {
    expect(await printed({ part: 'target' })).not.toContain('kind: Deployment');
  });

  test('--with monitoring monitors the machine-config-controller only if it is installed', async () => {
    const monitors = async (...parts: string[]) =>
      (await printed({ provider: 'aws', with: ['monitoring', ...parts] })).match(
        /kind: ServiceMonitor\n.*\n {2}name: .*/g,
      );
    expect(await monitors()).toHaveLength(1);
    expect(await monitors('machine-config')).toHaveLength(2);
  });

  test('alerts have links to their runbooks with --runbook-base-url', async () => {
    const monitored = { provider: 'aws', with: ['monitoring'] };
    expect(await printed(monitored)).not.toContain('runbook_url');
    expect(await printed({ ...monitored, runbookBaseUrl: 'https://docs.example/' })).toContain(
      'runbook_url: https://docs.example/docs/runbooks/McmDown.md',
    );
  });
});
