import type { Hono } from 'hono';
import { z } from 'zod';
import type { CloudContext } from '../context/settings.ts';
import type { Images } from '../state/images.ts';
import { machineType, machineTypeNames } from '../state/machine-types.ts';
import type { CloudState } from '../state/state.ts';
import { page, readBody } from './input.ts';
import type { RunOperation } from './operation.ts';

const imageBody = z.strictObject({ name: z.string().min(1).max(253) });
const count = z.int().nonnegative();
const quotasBody = z
  .strictObject({ instances: count, cpus: count, volumes: count, zoneCapacity: z.record(z.string().min(1), count) })
  .partial();

export function accountRoutes(
  app: Hono,
  parts: { readonly context: CloudContext; readonly state: CloudState; readonly images: Images },
  run: RunOperation,
): void {
  const { context, state, images } = parts;
  app.post('/v1/images', (c) =>
    run(c, 'images.create', async () => {
      const { name } = await readBody(c, imageBody);
      return { work: () => ({ status: 201, body: images.create(name) }) };
    }),
  );
  app.get('/v1/images', (c) =>
    run(c, 'images.list', () => ({ work: () => ({ status: 200, body: page(c, [...images.list()]) }) })),
  );
  app.get('/v1/images/:id', (c) =>
    run(c, 'images.get', () => ({ work: () => ({ status: 200, body: images.get(c.req.param('id')) }) })),
  );
  app.post('/v1/images/:id/deprecate', (c) =>
    run(c, 'images.deprecate', () => ({ work: () => ({ status: 200, body: images.deprecate(c.req.param('id')) }) })),
  );
  app.delete('/v1/images/:id', (c) =>
    run(c, 'images.delete', () => ({
      work: () => {
        images.delete(c.req.param('id'));
        return { status: 204 };
      },
    })),
  );
  app.get('/v1/quotas', (c) => run(c, 'quotas.get', () => ({ work: () => ({ status: 200, body: state.quotas }) })));
  app.put('/v1/quotas', (c) =>
    run(c, 'quotas.update', async () => {
      const quotas = JSON.parse(JSON.stringify(await readBody(c, quotasBody)));
      return {
        work: () => {
          state.saveQuotas(quotas);
          return { status: 200, body: quotas };
        },
      };
    }),
  );
  app.get('/v1/zones', (c) =>
    run(c, 'zones.list', () => ({ work: () => ({ status: 200, body: { items: context.zones } }) })),
  );
  app.get('/v1/machine-types', (c) =>
    run(c, 'machinetypes.list', () => ({
      work: () => ({ status: 200, body: { items: machineTypeNames.map(machineType) } }),
    })),
  );
}
