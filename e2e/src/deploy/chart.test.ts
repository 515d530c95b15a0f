import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createClient, loadKubeconfig, realClock, undiciTransport } from '@mcm/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../docs/sources.ts';
import { type ApiServer, startApiServer } from '../harness/api-server.ts';

/** Tests the Helm chart with an installed Helm: its lint rules, its values, and a release on an API server. */

const hasHelm = spawnSync('helm', ['version'], { stdio: 'ignore' }).error === undefined;
const CHART = join(ROOT, 'deploy/helm/machine-controller-manager');
const run = promisify(execFile);
const LIMIT = { timeout: 180_000 };

interface Rendered {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>> | null;
  };
}

const setting = (values: readonly string[]): string[] => values.flatMap((value) => ['--set', value]);

const rendered = (...values: string[]): Rendered[] => {
  const args = ['template', 'mcm', CHART, '--namespace', 'here', '--kube-version', 'v1.36.0', ...setting(values)];
  const text = execFileSync('helm', args, { encoding: 'utf8', maxBuffer: 1e8, stdio: 'pipe' });
  return parseAllDocuments(text)
    .map((document): Rendered | null => document.toJS())
    .filter((object) => object !== null);
};

const refusal = (...values: string[]): string => {
  try {
    rendered(...values);
  } catch (error) {
    return String(error);
  }
  return '';
};

const kindsOf = (objects: readonly Rendered[]): ReadonlySet<string> => new Set(objects.map(({ kind }) => kind));
const imagesOf = (objects: readonly Rendered[]): readonly string[] =>
  JSON.stringify(objects).match(/(?<="image":")[^"]+/g) ?? [];

describe.runIf(hasHelm)('the chart', () => {
  /**
   * The tested arguments: each switch in both positions, and each form of a value that a template handles differently.
   */
  const MATRIX: readonly (readonly string[])[] = [
    ['provider=local'],
    ['provider=aws', 'replicas=1', 'kubeconfigs.target=none', 'targetRbac.enabled=false'],
    ['provider=gcp', 'kubeconfigs.control=/etc/mcm/control/kubeconfig', 'crds.enabled=false'],
    ['provider=mine', 'images.controller.repository=own/controller', 'images.controller.tag=v2'],
    ['provider=local', 'nameOverride=other', 'fullnameOverride=other-name', 'commonLabels.team=infra'],
    ['provider=local', 'serviceAccount.create=false', 'serviceAccount.name=existing'],
    ['provider=azure', 'monitoring.enabled=true', 'monitoring.runbookBaseUrl=https://docs.example/'],
    [
      ...['provider=local', 'monitoring.enabled=true', 'monitoring.serviceMonitor.enabled=false'],
      ...['monitoring.podMonitor.enabled=true', 'monitoring.podMonitor.interval=30s'],
      'monitoring.podMonitor.authorization.credentials.name=token',
    ],
    [
      'provider=local',
      'machineConfig.enabled=true',
      'machineConfigTarget.enabled=true',
      'machineConfigDaemon.enabled=true',
    ],
    ['provider=local', 'dashboard.enabled=true', 'dashboardTarget.enabled=true', 'flags.dashboard.tls-cert-dir=/t'],
    ['provider=local', 'policies.enabled=true', 'fairness.enabled=false', 'webhooks.enabled=false'],
    ['provider=local', 'networkPolicy.enabled=false', 'podDisruptionBudget.enabled=false', 'rbac.enabled=false'],
    ['provider=local', 'workload.enabled=false'],
    [
      ...['provider=aws', 'separateController.enabled=true', 'separateController.annotations.role=r'],
      ...['policies.enabled=true', 'monitoring.enabled=true', 'monitoring.podMonitor.enabled=true'],
    ],
    ['provider=aws', 'hookWebhooks.secret=hooks'],
    ['provider=aws', 'hookWebhooks.secret=hooks', 'separateController.enabled=true'],
    [
      'provider=aws',
      'fleet.enabled=true',
      'hookWebhooks.secret=hooks',
      'fleet.selector=a=b',
      'fleet.namespaces={a,b}',
      'monitoring.enabled=true',
    ],
    ['provider=aws', 'fleet.enabled=true', 'fleet.clusters=a=b', 'fleet.namespaces={a}'],
    ['provider=aws', 'fleet.enabled=true', 'fleet.clusterProfiles=a=b'],
    [
      ...['provider=local', 'pod.topologySpread=null', 'pod.tolerations[0].operator=Exists'],
      ...['pod.volumes[0].name=v', 'pod.volumes[0].emptyDir.medium=Memory', 'volumeMounts.manager[0].name=v'],
      'volumeMounts.manager[0].mountPath=/v',
    ],
  ];

  test.each(MATRIX)(
    'passes helm lint --strict, and each object has the labels of the chart: %s',
    LIMIT,
    (...values) => {
      const lint = execFileSync('helm', ['lint', '--strict', '--kube-version', 'v1.36.0', CHART, ...setting(values)], {
        encoding: 'utf8',
      });
      expect(lint).toContain('0 chart(s) failed');
      for (const { kind, metadata } of rendered(...values))
        expect(metadata.labels, `${kind}/${metadata.name}`).toMatchObject({
          'app.kubernetes.io/instance': 'mcm',
          'app.kubernetes.io/managed-by': 'Helm',
          'helm.sh/chart': expect.stringMatching(/^machine-controller-manager-\d/),
        });
    },
  );

  /** Every component and every part of the chart is enabled. */
  const EVERYTHING = [
    ...['provider=aws', 'machineConfig', 'machineConfigTarget', 'machineConfigDaemon', 'dashboard', 'dashboardTarget'],
    ...['policies', 'monitoring', 'monitoring.podMonitor'],
  ].map((name) => (name.includes('=') ? name : `${name}.enabled=true`));
  const OF_MANAGER = /^machine-controller(-manager)?$/;
  const ofKinds =
    (kinds: RegExp, name = /./) =>
    (object: Rendered): boolean =>
      kinds.test(object.kind) && name.test(object.metadata.name);
  const MONITORS = /^(Service|Pod)Monitor$/;
  const RUNS = /^(Deployment|Service|PodDisruptionBudget|NetworkPolicy|ServiceMonitor|PodMonitor)$/;
  const CONFIG = /^machine-config-controller$/;
  const OWNED: readonly (readonly [name: string, isOwned: (object: Rendered) => boolean])[] = [
    ['crds', ofKinds(/^CustomResourceDefinition$/)],
    ['rbac', ofKinds(/^(Role|ServiceAccount)/, OF_MANAGER)],
    ['targetRbac', ofKinds(/Role/, /^machine-controller(-manager)?-(nodes|tokens|node-events)/)],
    ['webhooks', ({ kind, metadata }) => kind.endsWith('WebhookConfiguration') || metadata.name.includes('webhooks')],
    ['workload', (object) => ofKinds(RUNS, OF_MANAGER)(object) || object.kind.endsWith('WebhookConfiguration')],
    ['podDisruptionBudget', ofKinds(/^PodDisruptionBudget$/)],
    ['networkPolicy', ofKinds(/^NetworkPolicy$/)],
    ['fairness', ofKinds(/^(FlowSchema|PriorityLevelConfiguration)$/)],
    ['machineConfig', (object) => ofKinds(RUNS, CONFIG)(object) || ofKinds(/Role|Account/, CONFIG)(object)],
    ['machineConfigTarget', ofKinds(/Role/, /^machine-config-(.*-nodes|controller-node-events|daemon-events)$/)],
    ['machineConfigDaemon', ofKinds(/^(DaemonSet|ServiceAccount)$/, /^machine-config-daemon$/)],
    ['dashboard', ofKinds(/^(?!ClusterRole)/, /^mcm-dashboard$/)],
    ['dashboardTarget', ofKinds(/Role/, /^mcm-dashboard-target/)],
    ['policies', ofKinds(/^ValidatingAdmissionPolicy/)],
    ['monitoring', (object) => ofKinds(MONITORS)(object) || ofKinds(/^(PrometheusRule|ConfigMap)$/)(object)],
    ['monitoring.serviceMonitor', ofKinds(/^ServiceMonitor$/)],
    ['monitoring.podMonitor', ofKinds(/^PodMonitor$/)],
    ['monitoring.rules', ofKinds(/^PrometheusRule$/)],
    ['monitoring.dashboards', ofKinds(/^ConfigMap$/)],
  ];

  // With separate pods, the chart has the most objects.
  const SEPARATE = [...EVERYTHING, 'separateController.enabled=true'];

  test.each(OWNED)('%s.enabled=false removes all objects of the switch', LIMIT, (name, isOwned) => {
    const left = rendered(...SEPARATE, `${name}.enabled=false`);
    expect(left.filter(isOwned).map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual([]);
  });

  test('each switch of the chart has objects', () => {
    const all = rendered(...SEPARATE);
    for (const [name, isOwned] of OWNED) expect(all.filter(isOwned), name).not.toEqual([]);
    // Each section of the values that has a switch is in `OWNED`, or has its own test.
    const values = execFileSync('helm', ['show', 'values', CHART], { encoding: 'utf8' });
    const switches = values.match(/^\w+(?=:\n(?: .*\n)*? {2}enabled: )/gm) ?? [];
    const listed = [...OWNED.map(([name]) => name.split('.')[0]), 'separateController', 'fleet'];
    expect(switches.toSorted()).toEqual([...new Set(listed)].toSorted());
  });

  test('a fleet has its own monitors, and no object of a single installation', () => {
    const objects = rendered(...EVERYTHING, 'fleet.enabled=true');
    expect(objects.filter(ofKinds(RUNS, OF_MANAGER)).map(({ kind }) => kind)).toEqual(['ServiceMonitor']);
    const monitors = objects.filter(({ kind }) => kind === 'PodMonitor').map(({ metadata }) => metadata.name);
    expect(monitors.toSorted()).toEqual(['machine-config-controller', 'mcm-fleet']);
  });

  test('the chart has no default provider, and needs an image for an unknown provider', () => {
    expect(refusal()).toContain('provider must be set: aws, azure, gcp, local');
    expect(refusal('provider=mine')).toContain('images.controller.repository must be set for the provider mine');
  });

  test('an image consists of registry, repository, tag and digest', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    expect(imagesOf(rendered('provider=aws'))).toEqual([
      'mcm/machine-controller-manager:0.1.0',
      'mcm/machine-controller-aws:0.1.0',
    ]);
    expect(
      imagesOf(
        rendered(
          ...['provider=mine', 'image.registry=registry.example/', 'images.manager.tag=v7'],
          ...['images.controller.repository=own/controller', `images.controller.digest=${digest}`],
        ),
      ),
    ).toEqual(['registry.example/mcm/machine-controller-manager:v7', `registry.example/own/controller@${digest}`]);
  });

  test('another name renames all objects and their references', () => {
    const objects = rendered('provider=local', 'fullnameOverride=other', 'nameOverride=app', 'policies.enabled=true');
    const text = JSON.stringify(objects.filter(({ kind }) => kind !== 'CustomResourceDefinition'));
    expect(text).toContain('"serviceAccountName":"other"');
    expect(text).toContain('--webhook-configurations=other.here');
    expect(text).toContain('system:serviceaccount:here:other');
    // The chart keeps the names of the Leases, the container, and the Secrets that contain kubeconfigs.
    const left: readonly string[] =
      text.replaceAll(/"helm.sh\/chart":"[^"]*"/g, '').match(/[^"\\']*machine-controller-manager[^"\\']*/g) ?? [];
    expect([...new Set(left)].toSorted()).toEqual([
      'machine-controller-manager',
      'machine-controller-manager-control',
      'machine-controller-manager-target',
      'machine.sapcloud.io/machine-controller-manager',
      'mcm/machine-controller-manager:0.1.0',
    ]);
    expect(objects.filter(({ metadata }) => metadata.name === 'machine-controller-manager')).toEqual([]);
  });

  test('alerts link to their runbooks when the address is set', () => {
    const rules = (...values: string[]): string =>
      JSON.stringify(
        rendered('provider=local', 'monitoring.enabled=true', ...values).filter(
          ({ kind }) => kind === 'PrometheusRule',
        ),
      );
    expect(rules()).not.toContain('runbook_url');
    expect(rules('monitoring.runbookBaseUrl=https://docs.example/mcm/')).toContain(
      '"runbook_url":"https://docs.example/mcm/docs/runbooks/McmDown.md"',
    );
  });

  test('the ConfigMap contains the Grafana dashboards, which link to each other', () => {
    const [map] = rendered('provider=local', 'monitoring.enabled=true').filter(({ kind }) => kind === 'ConfigMap');
    const { data } = JSON.parse(JSON.stringify(map)) as { data: Readonly<Record<string, string>> };
    const boards = Object.values(data).map((text) => JSON.parse(text) as { uid: string; links: { url: string }[] });
    expect(boards).toHaveLength(2);
    expect(boards.flatMap(({ links }) => links.map(({ url }) => url)).toSorted()).toEqual(
      boards.map(({ uid }) => `/d/${uid}`).toSorted(),
    );
    expect(map?.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
  });

  test('CRDs can be omitted, and stay after an uninstallation unless the user decides otherwise', () => {
    expect(kindsOf(rendered('provider=local', 'crds.enabled=false'))).not.toContain('CustomResourceDefinition');
    const policies = (...values: string[]) =>
      rendered('provider=local', 'machineConfig.enabled=true', ...values)
        .filter(({ kind }) => kind === 'CustomResourceDefinition')
        .map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy']);
    expect(new Set(policies())).toEqual(new Set(['keep']));
    expect(policies()).toHaveLength(9);
    expect(new Set(policies('crds.keep=false'))).toEqual(new Set([undefined]));
  });

  describe('on an API server', () => {
    let server: ApiServer;
    let dir: string;
    beforeAll(async () => {
      server = await startApiServer({ crds: [] });
      dir = mkdtempSync(join(tmpdir(), 'mcm chart '));
      writeFileSync(join(dir, 'kubeconfig'), server.kubeconfig(), { mode: 0o600 });
    });
    afterAll(async () => {
      await server.close();
      rmSync(dir, { recursive: true, force: true });
    });

    test(
      'install, upgrade, rollback and uninstall work; CRDs stay, and everything else is deleted',
      LIMIT,
      async () => {
        const kubeconfig = join(dir, 'kubeconfig');
        const env = { ...process.env, HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir };
        // The test must not block while it runs helm, because the API server may run in the same process.
        const helm = async (...args: string[]): Promise<string> => {
          const { stdout } = await run('helm', [...args, '--namespace', 'mcm', '--kubeconfig', kubeconfig], { env });
          return stdout;
        };
        const transport = undiciTransport(await loadKubeconfig(kubeconfig));
        const client = createClient({ transport, userAgent: 'mcm-e2e', clock: realClock });
        const replicas = async (): Promise<number> => {
          const path = '/apis/apps/v1/namespaces/mcm/deployments/machine-controller-manager';
          return (await client.request<{ spec: { replicas: number } }>('GET', path)).spec.replicas;
        };
        try {
          const notes = await helm('install', 'mcm', CHART, '--create-namespace', '--set', 'provider=local');
          expect(notes).toContain('rollout status deployment/machine-controller-manager');
          expect(await replicas()).toBe(2);
          await helm(
            'upgrade',
            'mcm',
            CHART,
            '--set',
            'provider=local',
            '--set',
            'replicas=3',
            '--set',
            'policies.enabled=true',
            '--set',
            'dashboard.enabled=true,dashboardTarget.enabled=true,separateController.enabled=true',
          );
          const dashboard = '/apis/apps/v1/namespaces/mcm/deployments/mcm-dashboard';
          await expect(client.request('GET', dashboard)).resolves.toMatchObject({ spec: { replicas: 1 } });
          expect(await replicas()).toBe(3);
          const containers = async (deployment: string) => {
            const path = `/apis/apps/v1/namespaces/mcm/deployments/${deployment}`;
            const { spec } = await client.request<{ spec: { template: { spec: { containers: { name: string }[] } } } }>(
              'GET',
              path,
            );
            return spec.template.spec.containers.map(({ name }) => name);
          };
          const [manager, controller] = ['machine-controller-manager', 'machine-controller'];
          expect([await containers(manager), await containers(controller)]).toEqual([[manager], [controller]]);
          await helm('rollback', 'mcm', '1');
          expect(await replicas()).toBe(2);
          await expect(client.request('GET', dashboard)).rejects.toThrow(/not found/);
          expect(await containers(manager)).toEqual([manager, controller]);
          await expect(containers(controller)).rejects.toThrow(/not found/);
          await helm('uninstall', 'mcm');
          await expect(replicas()).rejects.toThrow(/not found/);
          const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machines.machine.sapcloud.io';
          await expect(client.request('GET', crds)).resolves.toMatchObject({ kind: 'CustomResourceDefinition' });
          await helm('install', 'mcm', CHART, '--set', 'provider=local', '--take-ownership');
          expect(await replicas()).toBe(2);
        } finally {
          await transport.close();
        }
      },
    );
  });
});
