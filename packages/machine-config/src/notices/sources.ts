import type { Transport } from '@mcm/kube';
import { z } from 'zod';

/** A notice of the metadata service about the VM of the node. */
export interface NodeNotice {
  readonly id: string;
  readonly kind: 'Terminate' | 'Maintenance';
  /** If a notice has no deadline, the cloud acts at the earliest `withinMs` after the first report. */
  readonly deadline?: string | undefined;
  /** The minimum time between a notice and its event. */
  readonly withinMs: number;
  readonly detail: string;
}

/**
 * Reads the notices of a metadata service.
 * @throws Error if the metadata service does not respond
 */
export type NoticeSource = (transport: Transport, signal: AbortSignal) => Promise<readonly NodeNotice[]>;

/**
 * The minimum time between the notice about a spot VM of Azure and the end of the VM. Source: learn.microsoft.com,
 * Scheduled Events for Linux VMs.
 */
const AZURE_PREEMPT_MS = 30_000;
/**
 * The minimum time between the notice about any other event of Azure and its start (Scheduled Events for Linux VMs).
 */
const AZURE_EVENT_MS = 5 * 60_000;
const GCE_PREEMPT_MS = 30_000;
/**
 * The minimum time between the notice about host maintenance at Google and its start. Source: cloud.google.com,
 * maintenance events.
 */
const GCE_MAINTENANCE_MS = 60_000;

const azureEvents = z.looseObject({
  Events: z.array(
    z.looseObject({
      EventId: z.string(),
      EventType: z.string(),
      Resources: z.array(z.string()).default([]),
      NotBefore: z.string().default(''),
      Description: z.string().default(''),
    }),
  ),
});

const AZURE_KINDS: Readonly<Record<string, NodeNotice['kind']>> = {
  Preempt: 'Terminate',
  Terminate: 'Terminate',
  Redeploy: 'Maintenance',
  Reboot: 'Maintenance',
};

/**
 * Reads Scheduled Events of Azure for the VM of the node. The daemon ignores `Freeze`, because `Freeze` pauses the VM
 * for only a few seconds.
 */
export const azureSource =
  (vmName: string): NoticeSource =>
  async (transport, signal) => {
    const path = '/metadata/scheduledevents?api-version=2020-07-01';
    const { Events } = azureEvents.parse(JSON.parse(await read(transport, path, { metadata: 'true' }, signal)));
    const own = vmName.toLowerCase();
    return Events.flatMap(({ EventId, EventType, Resources, NotBefore, Description }) => {
      const kind = AZURE_KINDS[EventType];
      if (kind === undefined || !Resources.some((name) => name.toLowerCase() === own)) return [];
      const at = Date.parse(NotBefore);
      return [
        {
          id: `azure-${EventId}`,
          kind,
          // Azure reports no time for an event that has already started.
          deadline: Number.isNaN(at) ? undefined : new Date(at).toISOString(),
          withinMs: EventType === 'Preempt' ? AZURE_PREEMPT_MS : AZURE_EVENT_MS,
          detail: `${EventType}${Description === '' ? '' : `: ${Description}`}`,
        },
      ];
    });
  };

/**
 * Reads notices of preemption and host maintenance from Compute Engine. The daemon ignores a live migration
 * (`MIGRATE_ON_HOST_MAINTENANCE`), because it pauses the VM for less than a second.
 */
export const gceSource: NoticeSource = async (transport, signal) => {
  const value = async (key: string): Promise<string> =>
    (await read(transport, `/computeMetadata/v1/instance/${key}`, { 'metadata-flavor': 'Google' }, signal)).trim();
  const [preempted, maintenance] = await Promise.all([value('preempted'), value('maintenance-event')]);
  return [
    ...(preempted === 'TRUE'
      ? [{ id: 'gce-preempted', kind: 'Terminate', withinMs: GCE_PREEMPT_MS, detail: 'preempted' } as const]
      : []),
    ...(maintenance === 'TERMINATE_ON_HOST_MAINTENANCE'
      ? [{ id: 'gce-maintenance', kind: 'Maintenance', withinMs: GCE_MAINTENANCE_MS, detail: maintenance } as const]
      : []),
  ];
};

async function read(
  transport: Transport,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  const answer = await transport({ method: 'GET', path, headers, signal });
  const text = await answer.text();
  if (answer.status === 200) return text;
  throw new Error(`the metadata service responded with status ${answer.status} to ${path.split('?')[0]}`);
}
