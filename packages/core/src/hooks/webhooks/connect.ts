import { type UndiciTransport, undiciTransport } from '@mcm/kube';
import type { HookWebhook } from './config.ts';

/** Verifies the certificate of the server, and follows no redirect. Only `main` calls this function. */
export const connectWebhook = ({ url, ca }: Pick<HookWebhook, 'url' | 'ca'>): UndiciTransport =>
  undiciTransport({ server: url.origin, ca });
