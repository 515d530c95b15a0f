import { type Controller, type ControllerOptions, createController, type Transport } from '@mcm/kube';
import { HookCaller, type HookCallerOptions, type ObserveHookCall } from './caller.ts';
import type { HookWebhook } from './config.ts';

export interface HookWebhooks {
  readonly webhooks: readonly HookWebhook[];
  readonly connect: (webhook: HookWebhook) => Transport;
  readonly observe: ObserveHookCall;
}

const CALLS_AT_ONCE = 5;

type Shared = Omit<HookCallerOptions, 'webhook' | 'transport' | 'observe'> & Pick<ControllerOptions, 'metrics'>;

/** Each webhook has its own controller, so that a slow webhook does not delay other webhooks. */
export const hookControllers = (
  { webhooks, connect, observe }: HookWebhooks,
  { metrics, ...shared }: Shared,
): readonly Controller[] =>
  webhooks.map((webhook) => {
    const caller = new HookCaller({ ...shared, webhook, transport: connect(webhook), observe });
    const { clock, random, log, caches } = shared;
    const controller = createController({
      name: `hooks-${webhook.name}`,
      reconcile: caller.reconcile,
      concurrency: CALLS_AT_ONCE,
      of: caches.machines,
      clock,
      random,
      log,
      metrics,
    });
    controller.watch(caches.machines, (change) => [change.key]);
    return controller;
  });
