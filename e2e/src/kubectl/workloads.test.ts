import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, hasKubectl, startCluster } from './cluster.ts';

const template = (app: string, spec: object = {}) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'c', image: 'web:1' }], ...spec },
});

const workload = (kind: string, name: string, spec: object = {}) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: { selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});

describe.skipIf(!hasKubectl)('kubectl rolls out, drains and checks permissions', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  test('kubectl creates, exposes, scales, updates, undoes, restarts and pauses a deployment', async () => {
    const image = 'get deployment web -o jsonpath={.spec.template.spec.containers[0].image}';
    await cluster.run('create deployment web --image=web:1 --replicas=2');
    expect(await cluster.run('rollout status deployment/web --timeout=20s')).toContain('successfully rolled out');
    await cluster.run('expose deployment web --port=80');
    await cluster.run('scale deployment/web --replicas=3 --current-replicas=2');
    expect(await cluster.refused('scale deployment/web --replicas=1 --current-replicas=2')).toContain(
      'Expected replicas to be 2, was 3',
    );
    await cluster.run('set image deployment/web web=web:2');
    await cluster.run('rollout status deployment/web --timeout=20s');
    expect(await cluster.run('rollout history deployment/web')).toMatch(/\n1 +<none>\n2 +<none>/);
    await cluster.run('rollout undo deployment/web');
    expect(await cluster.run(image)).toBe('web:1');
    await cluster.run('rollout status deployment/web --timeout=20s');
    expect(await cluster.run('rollout history deployment/web')).toMatch(/\n2 +<none>\n3 +<none>/);
    await cluster.run('rollout restart deployment/web');
    await cluster.run('rollout status deployment/web --timeout=20s');
    await cluster.run('rollout pause deployment/web');
    expect(await cluster.refused('rollout undo deployment/web')).toContain('cannot rollback a paused deployment');
    await cluster.run('set image deployment/web web=web:3');
    await cluster.run('rollout resume deployment/web');
    await cluster.run('rollout status deployment/web --timeout=20s');
    await cluster.run('wait deployment/web --for=condition=Available --timeout=20s');
    expect(await cluster.run('get pods -l app=web -o jsonpath={.items[*].spec.containers[0].image}')).toBe(
      'web:3 web:3 web:3',
    );
  });

  test.each([
    ['DaemonSet', 'daemonset/agents', 'agents'],
    ['StatefulSet', 'statefulset/stores', 'stores'],
  ])('kubectl rollout shows the status and history of a %s, and undoes a revision', async (kind, object, name) => {
    const spec = kind === 'StatefulSet' ? { replicas: 2, serviceName: name } : {};
    await cluster.run('apply -f -', workload(kind, name, spec));
    await cluster.run(`rollout status ${object} --timeout=20s`);
    await cluster.run(`set image ${object} c=web:2`);
    await cluster.run(`rollout status ${object} --timeout=20s`);
    expect(await cluster.run(`rollout history ${object}`)).toMatch(/\n1 +<none>\n2 +<none>/);
    expect(await cluster.run(`rollout history ${object} --revision=1`)).toMatch(/Image:\s+web:1/);
    await cluster.run(`rollout undo ${object}`);
    await cluster.run(`rollout status ${object} --timeout=20s`);
    expect(await cluster.run(`get pods -l app=${name} -o jsonpath={.items[*].spec.containers[0].image}`)).toBe(
      'web:1 web:1',
    );
    expect(await cluster.run(`rollout history ${object}`)).toMatch(/\n2 +<none>\n3 +<none>/);
    await cluster.run(`delete ${object} --timeout=20s`);
  });

  test('cordon, taint and drain respect DaemonSets, local data, pods without a controller, and budgets', async () => {
    await cluster.run('delete deployment web --cascade=foreground --timeout=20s');
    await cluster.run('cordon n2');
    await cluster.run('taint node n2 key=value:NoSchedule');
    expect(await cluster.refused('taint node n2 key=value:NoSchedule')).toContain('already has key taint(s)');
    await cluster.run('taint node n2 key-');
    await cluster.run('apply -f -', workload('DaemonSet', 'daemon'));
    await cluster.run('run lone --image=web');
    const cache = { volumes: [{ name: 'cache', emptyDir: {} }] };
    await cluster.run(
      'apply -f -',
      workload('Deployment', 'guarded', { replicas: 2, template: template('guarded', cache) }),
    );
    await cluster.run('rollout status deployment/guarded --timeout=20s');
    await cluster.run('rollout status daemonset/daemon --timeout=20s');
    await cluster.run('wait pod/lone --for=condition=Ready --timeout=20s');
    await cluster.run('create pdb guarded --selector=app=guarded --min-available=2');
    const refusal = await cluster.refused('drain n1');
    expect(refusal).toContain('use --ignore-daemonsets to ignore');
    expect(refusal).toContain('use --delete-emptydir-data to override');
    expect(refusal).toContain('use --force to override');
    const drain = 'drain n1 --ignore-daemonsets --delete-emptydir-data --force';
    expect(await cluster.refused(`${drain} --timeout=2s`)).toContain("violate the pod's disruption budget");
    expect(await cluster.refused('get pod lone')).toContain('NotFound');
    await cluster.run('patch pdb guarded --type=merge -p {"spec":{"minAvailable":1}}');
    await cluster.run('uncordon n2');
    expect(await cluster.run(`${drain} --dry-run=server`)).toContain('node/n1 drained (server dry run)');
    expect(await cluster.run(`${drain} --timeout=20s`)).toContain('node/n1 drained');
    const left = await cluster.run(
      'get pods --field-selector=spec.nodeName=n1 -o jsonpath={.items[*].metadata.labels.app}',
    );
    expect(left).toBe('daemon');
    await cluster.run('uncordon n1');
  });

  test('kubectl creates reviews and tokens, and approves certificates', async () => {
    expect(await cluster.run('auth can-i create pods')).toBe('yes');
    await cluster.run('create serviceaccount viewer');
    const as = '--as=system:serviceaccount:default:viewer';
    expect((await cluster.kubectl(['auth', 'can-i', 'list', 'pods', as])).stdout).toBe('no');
    await cluster.run('create clusterrolebinding viewer --clusterrole=view --serviceaccount=default:viewer');
    expect(await cluster.run(`auth can-i list pods ${as}`)).toBe('yes');
    expect(await cluster.run(`auth can-i --list ${as}`)).toMatch(/^pods\.?\s+\[\]\s+\[\]\s+\[get list watch\]$/m);
    const token = await cluster.run('create token viewer --duration=10m');
    expect(
      await cluster.run(
        `auth whoami --token=${token} --kubeconfig=/dev/null --insecure-skip-tls-verify --server=${cluster.plane.url}`,
      ),
    ).toContain('system:serviceaccount:default:viewer');
  });

  test('requests that need a running container are refused with one sentence', async () => {
    await cluster.run('run silent --image=web');
    await cluster.run('wait pod/silent --for=condition=Ready --timeout=20s');
    for (const line of ['logs silent', 'exec silent -- ls', 'attach silent']) {
      expect(await cluster.refused(line)).toMatch(/no preferred addresses found; known addresses: \[\]/);
    }
    expect(await cluster.refused('logs silent -c other')).toContain('container other is not valid for pod silent');
    expect(await cluster.run('events')).toBeDefined();
  });
});
