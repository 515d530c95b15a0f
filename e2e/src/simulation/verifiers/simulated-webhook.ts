import { createHmac } from 'node:crypto';
import { Annotations } from '@mcm/api';
import type { buildMachineController } from '@mcm/core';
import type { Transport, TransportRequest, TransportResponse } from '@mcm/kube';
import type { Dice } from '../script/dice.ts';
import type { World } from '../world/world.ts';

type HookWebhooks = NonNullable<Parameters<typeof buildMachineController>[0]['hookWebhooks']>;

export const WEBHOOK = 'webhook';

const KEYS = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
const FAULTS = { most: 4, slowestMs: 20_000 } as const;

interface Call {
  readonly stage: string;
  readonly hook: string;
  readonly machine: { readonly uid: string; readonly name: string };
}

const answer = (status: number, body: string): TransportResponse => ({
  status,
  headers: { get: () => null },
  text: async () => body,
  body: null,
});

/** Responses that do not report the end of a step. */
const WRONG: readonly TransportResponse[] = [
  answer(500, '{"done":true}'),
  answer(302, '{"done":true}'),
  answer(503, ''),
  answer(200, 'done'),
  answer(200, '{"done":"true"}'),
  answer(200, '{}'),
];

export class SimulatedWebhook {
  readonly #dice: Dice;
  readonly #calls = new Map<string, number>();
  readonly #finished = new Set<string>();
  #world: World | undefined;
  #awayUntil = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  attach(world: World): void {
    this.#world = world;
  }

  hasFinished(id: string): boolean {
    return this.#finished.has(id);
  }

  away(until: number): void {
    this.#awayUntil = until;
  }

  readonly options: HookWebhooks = {
    webhooks: [
      {
        name: WEBHOOK,
        url: new URL('https://webhook.example.org/hooks'),
        ca: undefined,
        keys: { read: async () => ({ keys: KEYS }) },
        timeoutMs: 10_000,
      },
    ],
    connect: () => this.#receive,
    observe: () => undefined,
  };

  readonly #receive: Transport = async (request) => {
    const world = this.#world;
    if (!world) throw new Error('the simulated webhook is not connected to a simulation');
    this.#verifySignature(request, world);
    const { stage, hook, machine }: Call = JSON.parse(request.body ?? '');
    const id = `${machine.uid} ${stage}.${Annotations.HookSuffix}/${hook}`;
    const calls = (this.#calls.get(id) ?? 0) + 1;
    this.#calls.set(id, calls);
    if (world.clock.now().getTime() < this.#awayUntil) throw new Error('the simulated webhook does not respond');
    if (calls > FAULTS.most) return this.#finish(id);
    switch (this.#dice.number(6)) {
      case 0:
        return this.#slow(id, request, world);
      case 1:
        this.#finish(id);
        throw new Error('the response of the simulated webhook is lost');
      case 2:
      case 3:
        return this.#dice.one(WRONG) ?? answer(500, '');
      case 4:
        return answer(200, `{"done":false,"retryAfterSeconds":${1 + this.#dice.number(40)}}`);
      default:
        return this.#finish(id);
    }
  };

  #finish(id: string): TransportResponse {
    this.#finished.add(id);
    return answer(200, '{"done":true}');
  }

  async #slow(id: string, { signal }: TransportRequest, { clock }: World): Promise<TransportResponse> {
    const ms = this.#dice.number(FAULTS.slowestMs);
    const { promise, resolve, reject } = Promise.withResolvers<TransportResponse>();
    clock.setTimeout(() => resolve(this.#finish(id)), ms);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    return promise;
  }

  #verifySignature({ headers, body = '' }: TransportRequest, { reporter }: World): void {
    const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const wanted = KEYS.map((key) => `v1,${createHmac('sha256', key).update(text).digest('base64')}`).join(' ');
    if (headers['webhook-signature'] !== wanted) reporter.violate('a request to a webhook has no valid signature');
  }
}
