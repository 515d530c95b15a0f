import { startControlPlane } from '@mcm/control-plane';
import { VirtualClock } from '@mcm/kube';

const clock = new VirtualClock();
const plane = await startControlPlane({ clock });
const send = async (method: string, path: string, body?: object) => {
  const headers = { 'content-type': 'application/json' };
  const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
  const answer = await plane.fetch(new Request(`https://plane${path}`, init));
  return (await answer.json()) as { items: object[]; status: { conditions: { type: string; reason: string }[] } };
};

// A Job whose time limit is one hour. The pods of the Job never finish, because no kubelet runs.
const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
const job = { metadata: { name: 'report' }, spec: { activeDeadlineSeconds: 3600, template } };
await send('POST', '/apis/batch/v1/namespaces/default/jobs', job);
await clock.advance(3_600_000); // On the virtual clock, one hour takes only milliseconds of real time.
const { status } = await send('GET', '/apis/batch/v1/namespaces/default/jobs/report');
console.log(status.conditions.map(({ type, reason }) => `${type}: ${reason}`).join());

// As in a cluster, the garbage collector deletes the objects that the Job owns.
await send('DELETE', '/apis/batch/v1/namespaces/default/jobs/report?propagationPolicy=Foreground');
await clock.advance(60_000);
const { items } = await send('GET', '/api/v1/namespaces/default/pods');
console.log(`${items.length} pods`);
await plane.close();
