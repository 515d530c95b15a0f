import { type Machine, machines } from '@mcm/api';
import {
  type Clock,
  createInformer,
  type Informer,
  type KubeClient,
  type KubeObject,
  type Logger,
  type Node,
  nodes,
  type Pod,
  type PodDisruptionBudget,
  podDisruptionBudgets,
  pods,
  type Secret,
  secrets,
  seededRandom,
  type VolumeAttachment,
  volumeAttachments,
} from '@mcm/kube';

const present = (value: string | undefined): readonly string[] => (value ? [value] : []);

export const volumeOfClaim = (claim: string): string => `pv-${claim}`;

export class ApiCache {
  readonly machines: Informer<Machine>;
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  readonly budgets: Informer<PodDisruptionBudget>;
  readonly attachments: Informer<VolumeAttachment>;
  readonly tokens: Informer<Secret>;

  constructor(client: KubeClient, clock: Clock, log: Logger) {
    const runtime = { clock, log, random: seededRandom(0) };
    this.machines = createInformer(client, machines, runtime);
    this.nodes = createInformer(client, nodes, runtime);
    this.pods = createInformer(client, pods, { ...runtime, indexes: { node: (pod) => present(pod.spec.nodeName) } });
    this.budgets = createInformer(client, podDisruptionBudgets, runtime);
    this.attachments = createInformer(client, volumeAttachments, {
      ...runtime,
      indexes: {
        node: (attachment) => [attachment.spec.nodeName],
        volume: (attachment) => present(attachment.spec.source.persistentVolumeName),
      },
    });
    this.tokens = createInformer(client, secrets, { ...runtime, namespace: 'kube-system' });
  }

  run(signal: AbortSignal): Promise<unknown> {
    const all = [this.machines, this.nodes, this.pods, this.budgets, this.attachments, this.tokens];
    return Promise.all((all as Informer<KubeObject>[]).map((informer) => informer.run(signal)));
  }

  volumesOf(pod: Pod): string[] {
    return (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) =>
      persistentVolumeClaim ? [volumeOfClaim(persistentVolumeClaim.claimName)] : [],
    );
  }
}
