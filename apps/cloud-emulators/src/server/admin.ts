import type { Transport } from '@mcm/kube';
import { z } from 'zod';
import { faultRule } from '../faults/rule.ts';
import { type Answer, jsonAnswer } from './answer.ts';
import type { Emulator } from './emulator.ts';

/** The path of the API with which tests control the emulator. */
export const ADMIN = '/_emulator';

const refuse = (status: number, message: string): Answer => jsonAnswer(status, { error: { message } });

/**
 * Adds the emulator's control API to the API of the cloud: `GET /_emulator/resources`, `GET /_emulator/counts`,
 * `GET|POST|DELETE /_emulator/faults`, `DELETE /_emulator/faults/<id>`, `POST /_emulator/interruptions`.
 */
export function withAdmin(emulator: Emulator): Transport {
  const { faults, counts } = emulator;
  return async (request) => {
    const { method, path, body = '' } = request;
    if (!path.startsWith(`${ADMIN}/`)) return emulator.transport(request);
    const [, what = '', id] = path.slice(ADMIN.length).split('/');
    switch (`${method} ${what}${id === undefined ? '' : '/'}`) {
      case 'GET resources':
        return jsonAnswer(200, { resources: emulator.resources() });
      case 'GET counts':
        return jsonAnswer(200, { counts: Object.fromEntries(counts) });
      case 'GET faults':
        return jsonAnswer(200, { faults: faults.list() });
      case 'POST faults':
        return order(emulator, body);
      case 'POST interruptions':
        return interrupt(emulator, body);
      case 'DELETE faults':
        faults.clear();
        return jsonAnswer(200, {});
      case 'DELETE faults/':
        return faults.lift(id ?? '') ? jsonAnswer(200, {}) : refuse(404, `fault rule ${id ?? ''} does not exist`);
      default:
        return refuse(404, `the emulator does not support ${method} ${path}`);
    }
  };
}

const interruption = z.strictObject({
  name: z.string().min(1),
  kind: z.enum(['Terminate', 'Maintenance', 'Ended', 'Freeze', 'Rebalance']).default('Terminate'),
  noticeMs: z.int().min(0).default(120_000),
});

function interrupt(emulator: Emulator, body: string): Answer {
  const parsed = interruption.safeParse(jsonOf(body));
  if (!parsed.success) return refuse(400, z.prettifyError(parsed.error));
  if (!emulator.interrupt) return refuse(501, 'the emulator of this cloud does not support interruptions');
  const { name, kind, noticeMs } = parsed.data;
  return emulator.interrupt(name, { kind, noticeMs }) ? jsonAnswer(202, {}) : refuse(404, `VM ${name} does not exist`);
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // The schema reports an invalid body, also if the body is not JSON.
  }
}

function order({ faults }: Emulator, body: string): Answer {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return refuse(400, 'the request body must be JSON');
  }
  const parsed = faultRule.safeParse(value);
  if (!parsed.success) return refuse(400, z.prettifyError(parsed.error));
  try {
    return jsonAnswer(201, { id: faults.order(parsed.data) });
  } catch (error) {
    return refuse(400, error instanceof Error ? error.message : String(error));
  }
}
