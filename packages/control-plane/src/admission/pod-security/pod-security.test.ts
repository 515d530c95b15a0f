import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { caller } from '../../auth/testing.ts';
import { type ControlPlane, startControlPlane } from '../../plane.ts';
import { inDetail, violations } from './evaluate.ts';
import type { Level } from './level.ts';

const C = { name: 'c', image: 'i' };
const TIGHT = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};

const assess = (
  spec: Record<string, unknown>,
  level: Level = 'baseline',
  minor: number | 'latest' = 'latest',
  annotations: Record<string, string> = {},
): string => inDetail(violations({ annotations, spec: { containers: [C], ...spec } }, { level, minor }));

const container = (securityContext: object, name = 'c') => ({ ...C, name, securityContext });
const tight = (more: object, name = 'c') => container({ ...TIGHT, ...more }, name);

describe('baseline', () => {
  test.each<[object, string]>([
    [{}, ''],
    [{ hostPID: true, hostNetwork: true }, 'host namespaces (hostNetwork=true, hostPID=true)'],
    [{ volumes: [{ name: 'v', hostPath: { path: '/' } }] }, 'hostPath volumes (volume "v")'],
    [
      {
        containers: [
          { ...C, ports: [{ hostPort: 9 }, { hostPort: 80 }] },
          { name: 'd', ports: [{ hostPort: 9 }] },
        ],
      },
      'hostPort (containers "c", "d" use hostPorts 80, 9)',
    ],
    [
      { initContainers: [container({ privileged: true }, 'i')], containers: [container({ privileged: true })] },
      'privileged (containers "i", "c" must not set securityContext.privileged=true)',
    ],
    [
      { containers: [container({ capabilities: { add: ['NET_RAW', 'CHOWN', 'BPF'] } })] },
      'non-default capabilities (container "c" must not include "BPF", "NET_RAW" in securityContext.capabilities.add)',
    ],
    [
      { securityContext: { seccompProfile: { type: 'Unconfined' } } },
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      {
        securityContext: { appArmorProfile: { type: 'Unconfined' } },
        containers: [container({ appArmorProfile: { type: 'Unconfined' } })],
      },
      'forbidden AppArmor profile (pod and container "c" must not set AppArmor profile type to "Unconfined")',
    ],
    [
      { securityContext: { seLinuxOptions: { type: 'spc_t', user: 'u' } } },
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)',
    ],
    [{ securityContext: { sysctls: [{ name: 'a' }, { name: 'net.ipv4.tcp_rmem' }] } }, 'forbidden sysctls (a)'],
    [
      { containers: [container({ procMount: 'Unmasked' })] },
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [{ hostUsers: false, containers: [container({ procMount: 'Unmasked' })] }, ''],
    [
      { securityContext: { windowsOptions: { hostProcess: true } } },
      'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
    [
      { containers: [{ ...C, livenessProbe: { httpGet: { host: '1.2.3.4' } } }] },
      'probe or lifecycle host (container "c" uses probe or lifecycle host "1.2.3.4")',
    ],
  ])('%j: %s', (spec, expected) => expect(assess(spec as Record<string, unknown>)).toBe(expected));

  test('older versions have fewer checks', () => {
    const probed = { containers: [{ ...C, livenessProbe: { httpGet: { host: 'x' } } }] };
    expect([assess(probed, 'baseline', 33), assess(probed, 'baseline', 34)]).toEqual([
      '',
      expect.stringMatching('host'),
    ]);
    const notes = { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' };
    expect(assess({}, 'baseline', 18, notes)).toBe(
      'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
    );
    expect(assess({}, 'baseline', 19, notes)).toBe('');
    const rmem = { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem' }] } };
    expect(assess(rmem, 'baseline', 31)).toBe('forbidden sysctls (net.ipv4.tcp_rmem)');
  });
});

describe('restricted', () => {
  test.each<[object, string]>([
    [{ containers: [tight({})] }, ''],
    [
      { containers: [tight({ capabilities: { add: ['CHOWN', 'NET_BIND_SERVICE'] } })] },
      'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]; container "c" must not include "CHOWN" in securityContext.capabilities.add)',
    ],
    [
      { containers: [tight({})], volumes: [{ name: 'a', hostPath: {} }, { name: 'b', nfs: {} }, { name: 'c' }] },
      'restricted volume types (volumes "a", "b", "c" use restricted volume types "hostPath", "nfs", "unknown")',
    ],
    [
      { containers: [tight({ runAsUser: 0 })], securityContext: { runAsUser: 0 } },
      'runAsUser=0 (pod and container "c" must not set runAsUser=0)',
    ],
    [
      { containers: [tight({ runAsNonRoot: false })] },
      'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
    ],
    [
      { os: { name: 'windows' } },
      'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
    ],
  ])('%j: %s', (spec, expected) => expect(assess(spec as Record<string, unknown>, 'restricted')).toBe(expected));
});

describe('a namespace', () => {
  const CORE = '/api/v1/namespaces/default';
  let plane: ControlPlane;
  let call: ReturnType<typeof caller>;
  beforeEach(async () => {
    plane = await startControlPlane({ controllers: false });
    call = caller(plane);
  });
  afterEach(() => plane.close());

  const label = (labels: Record<string, string | null>) =>
    call('PATCH', CORE, {
      body: {
        metadata: {
          labels: Object.fromEntries(
            Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]),
          ),
        },
      },
    });
  const pod = (spec: object = {}) => ({ automountServiceAccountToken: false, containers: [C], ...spec });
  const run = (name: string, spec: object = {}) =>
    call('POST', `${CORE}/pods`, { body: { metadata: { name }, spec: pod(spec) } });

  test('a namespace that enforces a level refuses a pod, and a namespace that warns returns a warning', async () => {
    await label({ enforce: 'baseline', 'warn-version': 'v1.18', warn: 'restricted' });
    const { status, body } = await run('a', { hostIPC: true });
    expect([status, body.message]).toEqual([
      403,
      'pods "a" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostIPC=true)',
    ]);
    const answer = await run('b');
    expect(answer.status).toBe(201);
    expect(answer.warnings.join()).toContain('would violate PodSecurity \\"restricted:v1.18\\": allowPrivilege');
  });

  test('a namespace that enforces a level warns about workloads, and never refuses them', async () => {
    await label({ enforce: 'baseline' });
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [C], hostNetwork: true } };
    const { status, warnings } = await call('POST', '/apis/apps/v1/namespaces/default/deployments', {
      body: { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } },
    });
    expect(status).toBe(201);
    expect(warnings).toEqual([
      '299 - "would violate PodSecurity \\"baseline:latest\\": host namespaces (hostNetwork=true)"',
    ]);
  });

  test('checks an update only when an image changes', async () => {
    await run('p', { hostNetwork: true });
    await label({ enforce: 'baseline' });
    const kept = await call('PATCH', `${CORE}/pods/p`, { body: { metadata: { labels: { a: 'b' } } } });
    expect(kept.status).toBe(200);
    const changed = await call('PATCH', `${CORE}/pods/p`, {
      body: { spec: { containers: [{ ...C, image: 'j' }] } },
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
    });
    expect(changed.status).toBe(403);
  });

  test('a namespace with a stricter level warns about existing pods', async () => {
    for (const name of ['b', 'a']) await run(name, { hostNetwork: true });
    await run('c', { hostPID: true, volumes: [{ name: 'v', hostPath: { path: '/' } }] });
    const { status, warnings } = await label({ enforce: 'baseline' });
    expect(status).toBe(200);
    expect(warnings).toEqual([
      '299 - "existing pods in namespace \\"default\\" violate the new PodSecurity enforce level \\"baseline:latest\\""',
      '299 - "a (and 1 other pod): host namespaces"',
      '299 - "c: host namespaces',
      'hostPath volumes"',
    ]);
    expect((await label({ enforce: 'privileged' })).warnings).toEqual([]);
  });

  test('a namespace must have valid labels', async () => {
    const { status, body } = await label({ enforce: 'strict', 'audit-version': '1.2' });
    expect([status, body.message]).toEqual([
      422,
      'Namespace "default" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/audit-version]: Invalid value: "1.2": must be "latest" or "v1.x"]',
    ]);
  });
});
