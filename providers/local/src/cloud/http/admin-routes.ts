import type { Logger } from '@mcm/kube';
import type { Context, Hono } from 'hono';
import { type KubeletBehaviour, kubeletBehaviour } from '../../machine/behaviour.ts';
import type { KubeletControl } from '../../machine/model.ts';
import { CloudError, notFound } from '../context/errors.ts';
import { type Faults, faultRule } from '../context/faults.ts';
import type { RequestLog } from '../context/request-log.ts';
import { readBody } from './input.ts';
import { errorBody, toCloudError } from './operation.ts';

/** The routes of the emulator's own API. */
export function adminRoutes(
  app: Hono,
  parts: {
    readonly log: Logger;
    readonly faults: Faults;
    readonly requests: RequestLog;
    readonly kubelets: KubeletControl | undefined;
  },
): void {
  const { faults, requests, kubelets } = parts;
  const answering = errorsAnswered(parts.log);
  app.get('/faults', (c) => c.json({ items: faults.list() }));
  app.post('/faults', (c) => answering(c, async () => c.json(faults.order(await readBody(c, faultRule)), 201)));
  app.delete('/faults', (c) => {
    faults.clear();
    return c.body(null, 204);
  });
  app.delete('/faults/:id', (c) =>
    answering(c, () => {
      if (!faults.cancel(c.req.param('id'))) throw notFound('fault', c.req.param('id'));
      return c.body(null, 204);
    }),
  );
  app.get('/requests', (c) => {
    const limit = Number(c.req.query('limit') ?? 100);
    return c.json({ counters: requests.counters, items: requests.recent(Number.isInteger(limit) ? limit : 100) });
  });
  app.delete('/requests', (c) => {
    requests.reset();
    return c.body(null, 204);
  });
  app.get('/v1/instances/:id/kubelet', (c) =>
    answering(c, () => c.json(required(kubelets?.behaviour(c.req.param('id')), c.req.param('id')))),
  );
  app.put('/v1/instances/:id/kubelet', (c) =>
    answering(c, async () => {
      const id = c.req.param('id');
      if (!kubelets?.order(id, await readBody(c, kubeletBehaviour))) throw notFound('kubelet of instance', id);
      return c.json(required(kubelets.behaviour(id), id));
    }),
  );
}

function required(behaviour: KubeletBehaviour | undefined, id: string): KubeletBehaviour {
  if (!behaviour) throw new CloudError('NotFound', `Instance ${JSON.stringify(id)} has no kubelet.`);
  return behaviour;
}

/** Converts errors in the emulator's own API to error responses. */
const errorsAnswered =
  (log: Logger) =>
  async (c: Context, work: () => Response | Promise<Response>): Promise<Response> => {
    try {
      return await work();
    } catch (thrown) {
      const error = toCloudError(thrown, log);
      return c.json(errorBody(error), error.status as 400);
    }
  };
