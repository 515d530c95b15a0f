import { type MachineDeployment, machineDeployments } from '@mcm/api';
import { admitDefaults, admitValid } from '@mcm/core';
import {
  type AdmissionHandler,
  type Clock,
  type KubeClient,
  type Logger,
  readCertificateFiles,
  startAdmissionServer,
  watchCertificateFiles,
} from '@mcm/kube';

/** The webhooks of this binary by path, as `deploy/webhooks` names them. */
export const webhookHandlers = (control: KubeClient): Readonly<Record<string, AdmissionHandler>> => ({
  '/default': admitDefaults,
  '/validate': admitValid(async (namespace): Promise<readonly MachineDeployment[]> => {
    const { items } = await control.resource(machineDeployments, namespace).list();
    return items;
  }),
});

/** Where webhooks are served, and with which certificate. */
export interface WebhookSettings {
  readonly host: string;
  /** 0: not at all. */
  readonly port: number;
  /** Holds `tls.crt` and `tls.key`. */
  readonly certificates: string;
}

/** Serves the webhooks, in every replica of the binary, until the returned function is called. */
export async function serveWebhooks(
  { host, port, certificates }: WebhookSettings,
  { control, clock, log }: { readonly control: KubeClient; readonly clock: Clock; readonly log: Logger },
): Promise<(() => Promise<void>) | undefined> {
  if (port === 0) return undefined;
  const pair = await readCertificateFiles(certificates);
  const server = await startAdmissionServer({ host, port }, pair, webhookHandlers(control));
  const files = watchCertificateFiles(certificates, { clock, log, use: server.use });
  log.info('Serving webhooks', { port: server.port });
  return () => {
    files.close();
    return server.close();
  };
}
