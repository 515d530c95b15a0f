import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, hasKubectl, startCluster } from './cluster.ts';

describe.skipIf(!hasKubectl)('kubectl creates objects and waits for them', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  test.each([
    ['configmap g --from-literal=a=b', 'configmap/g', 'cm g -o jsonpath={.data.a}', 'b'],
    ['secret generic g --from-literal=a=b', 'secret/g', 'secret g -o jsonpath={.type}{.data.a}', 'OpaqueYg=='],
    ['serviceaccount g', 'serviceaccount/g', 'sa g -o name', 'serviceaccount/g'],
    ['namespace g', 'namespace/g', 'ns g -o jsonpath={.status.phase}', 'Active'],
    ['quota g --hard=services=99', 'resourcequota/g', 'quota g -o jsonpath={.spec.hard.services}', '99'],
    ['priorityclass g --value=7', 'priorityclass.scheduling.k8s.io/g', 'pc g -o jsonpath={.value}', '7'],
    [
      'role g --verb=get --resource=pods',
      'role.rbac.authorization.k8s.io/g',
      'role g -o jsonpath={.rules[0].verbs}',
      '["get"]',
    ],
    [
      'rolebinding g --role=g --serviceaccount=default:g',
      'rolebinding.rbac.authorization.k8s.io/g',
      'rolebinding g -o jsonpath={.subjects[0].kind}/{.subjects[0].name}',
      'ServiceAccount/g',
    ],
    [
      'clusterrolebinding g --clusterrole=view --user=u',
      'clusterrolebinding.rbac.authorization.k8s.io/g',
      'clusterrolebinding g -o jsonpath={.roleRef.name}',
      'view',
    ],
    [
      'poddisruptionbudget g --selector=a=b --min-available=1',
      'poddisruptionbudget.policy/g',
      'pdb g -o jsonpath={.spec.minAvailable}',
      '1',
    ],
    ['service clusterip g --tcp=80:8080', 'service/g', 'svc g -o jsonpath={.spec.ports[0].targetPort}', '8080'],
    [
      'ingress g --rule=a.example/x=g:80',
      'ingress.networking.k8s.io/g',
      'ingress g -o jsonpath={.spec.rules[0].host}',
      'a.example',
    ],
    ['cronjob g --image=i --schedule=*/5_*_*_*_*', 'cronjob.batch/g', 'cj g -o jsonpath={.spec.suspend}', 'false'],
    [
      'job g --image=i --from=cronjob/g',
      'job.batch/g',
      'job g -o jsonpath={.metadata.ownerReferences[0].kind}',
      'CronJob',
    ],
  ])('create %s', async (line, made, read, shown) => {
    const args = `create ${line}`.replace(' --image=i --from', ' --from').split(' ');
    // The schedule of the CronJob contains spaces, so the arguments are passed as a list.
    const { code, stdout, stderr } = await cluster.kubectl(
      args.map((arg) => (arg.startsWith('--schedule') ? arg.replaceAll('_', ' ') : arg)),
    );
    expect(`${code} ${stderr}`).toBe('0 ');
    expect(stdout).toBe(`${made} created`);
    expect(await cluster.run(`get ${read}`)).toBe(shown);
  });

  test('kubectl run, expose, autoscale and set change the cluster', async () => {
    expect(await cluster.run('run lone --image=web:1 --port=80 --labels=app=lone --env=A=b')).toBe('pod/lone created');
    expect(await cluster.run('expose pod lone --port=8080 --target-port=80')).toBe('service/lone exposed');
    await cluster.run('create deployment sized --image=web:1 --replicas=1');
    expect(await cluster.run('autoscale deployment sized --min=1 --max=3 --cpu-percent=50')).toContain(
      'sized autoscaled',
    );
    expect(await cluster.run('get hpa sized -o jsonpath={.spec.minReplicas}-{.spec.maxReplicas}')).toBe('1-3');
    await cluster.run('set env deployment/sized A=b');
    await cluster.run('set resources deployment/sized --requests=cpu=10m --limits=cpu=20m');
    await cluster.run('set serviceaccount deployment sized default');
    const container = '.spec.template.spec.containers[0]';
    expect(
      await cluster.run(
        `get deployment sized -o jsonpath={${container}.env[0].value}{${container}.resources.limits.cpu}`,
      ),
    ).toBe('b20m');
  });

  test('kubectl wait ends at a condition, a value, a creation and a deletion', async () => {
    await cluster.run('run waited --image=web:1');
    expect(await cluster.run('wait --for=condition=Ready pod/waited --timeout=20s')).toBe('pod/waited condition met');
    expect(await cluster.run('wait --for=jsonpath={.status.phase}=Running pod/waited --timeout=20s')).toBe(
      'pod/waited condition met',
    );
    const deletion = cluster.run('wait --for=delete pod/waited --timeout=20s');
    await cluster.run('delete pod waited --force --grace-period=0');
    // When `kubectl wait` starts, the pod may already be deleted.
    expect(['', 'pod/waited condition met', 'pod/waited deleted']).toContain(await deletion);
    expect(await cluster.refused('wait --for=condition=Ready pod/waited --timeout=1s')).toContain('NotFound');
  });

  test('events of controllers are listed, and described with their objects', async () => {
    await cluster.run('create deployment told --image=web:1 --replicas=1');
    await cluster.run('rollout status deployment told --timeout=20s');
    const { stdout } = await cluster.kubectl(['describe', 'deployment', 'told']);
    expect(stdout).toMatch(
      /Normal +ScalingReplicaSet +.* deployment-controller +Scaled up replica set told-\w+ from 0 to 1/,
    );
    const events = await cluster.run('events --for deployment/told');
    expect(events).toContain('ScalingReplicaSet');
    expect(await cluster.run('get events --field-selector reason=Scheduled -o jsonpath={.items[*].message}')).toContain(
      'Successfully assigned default/told-',
    );
  });

  test('rollout status reports a rollout without progress before its deadline', async () => {
    await cluster.run('create deployment stuck --image=web:1 --replicas=1');
    await cluster.run('rollout status deployment stuck --timeout=20s');
    const patch = { progressDeadlineSeconds: 1, template: { spec: { nodeSelector: { nowhere: 'here' } } } };
    await cluster.run(`patch deployment stuck -p ${JSON.stringify({ spec: patch })}`);
    expect(await cluster.refused('rollout status deployment stuck --timeout=20s')).toContain(
      'exceeded its progress deadline',
    );
    await cluster.run('rollout undo deployment stuck');
    expect(await cluster.run('rollout status deployment stuck --timeout=20s')).toContain('successfully rolled out');
  });

  test('kubectl shows the permissions, the identity and the resources of the user', async () => {
    expect(await cluster.run('auth can-i --list --as=nobody')).toMatch(/selfsubjectreviews.authentication.k8s.io/);
    expect(await cluster.run('auth can-i get pods --as=system:serviceaccount:default:g')).toBe('yes');
    expect(await cluster.refused('auth can-i delete configmaps --as=nobody')).toBe('');
    expect(await cluster.run('auth whoami -o jsonpath={.status.userInfo.groups}')).toContain('system:masters');
    const resources = await cluster.run('api-resources --verbs=list --namespaced=false -o name');
    expect(resources.split('\n')).toEqual(
      expect.arrayContaining(['nodes', 'persistentvolumes', 'csidrivers.storage.k8s.io']),
    );
    expect(await cluster.run('api-versions')).toContain('discovery.k8s.io/v1');
  });
});
