import type { ScriptRule } from '@mcm/cloud-emulators';
import { isRecord } from '@mcm/kube';
import type { ExpectedRequest, Situation } from '../expected.ts';
import type { RecordedCase } from '../recording.ts';

export interface RecordedInterface {
  readonly networkInterfaceId?: string | null;
  readonly interfaceType?: string | null;
  readonly sourceDestCheck?: boolean | null;
  readonly deviceIndex?: number | null;
  readonly networkCardIndex?: number | null;
  readonly noAttachment?: boolean;
  readonly ipv6Prefixes?: readonly string[] | null;
}

export interface RecordedInstance {
  readonly instanceId?: string | null;
  readonly state?: string | null;
  readonly sourceDestCheck?: boolean | null;
  readonly networkInterfaces?: readonly RecordedInterface[] | null;
}

interface RecordedCloud {
  readonly script?: readonly ScriptRule[];
  readonly instances?: readonly RecordedInstance[];
}

const cloudOf = ({ cloud }: RecordedCase): RecordedCloud => (cloud ?? {}) as RecordedCloud;
export const scriptOf = (recorded: RecordedCase): readonly ScriptRule[] => cloudOf(recorded).script ?? [];
export const instancesOf = (recorded: RecordedCase): readonly RecordedInstance[] => cloudOf(recorded).instances ?? [];

export interface RecordedSpec {
  readonly region?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly srcAndDstChecksEnabled?: boolean;
  readonly networkInterfaces?: readonly {
    readonly deviceIndex?: number;
    readonly networkCardIndex?: number;
    readonly ipv6PrefixCount?: number;
  }[];
}

export function specOf({ providerSpec }: RecordedCase): RecordedSpec {
  const { tags, region, networkInterfaces, ...others } = isRecord(providerSpec) ? providerSpec : {};
  const entries = Array.isArray(networkInterfaces) ? networkInterfaces.map((each) => (isRecord(each) ? each : {})) : [];
  const place = typeof region === 'string' ? { region } : {};
  return { ...others, ...place, tags: isRecord(tags) ? tags : {}, networkInterfaces: entries } as RecordedSpec;
}

/** Returns the VM of the machine, if the recording contains exactly one. */
export const instanceOf = ({ recorded }: Situation): RecordedInstance | undefined => {
  const all = instancesOf(recorded);
  return all.length === 1 ? all[0] : undefined;
};

/** Returns the request that searches for a machine's VMs by name, cluster and role. */
export function searchByTags({ recorded }: Situation): ExpectedRequest {
  const keys = Object.keys(specOf(recorded).tags ?? {}).toSorted();
  const marks = ['kubernetes.io/cluster/', 'kubernetes.io/role/'].map((mark) => keys.find((key) => key.includes(mark)));
  const filters: readonly (readonly [string, readonly string[]])[] = [
    ['tag:Name', [recorded.machine?.name ?? '']],
    ...marks.map((key): [string, string[]] => ['tag-key', key === undefined ? [] : [key]]),
    ['instance-state-name', ['pending', 'running', 'stopping', 'stopped']],
  ];
  const params = filters.flatMap(([name, values], i) => [
    [`Filter.${i + 1}.Name`, name],
    ...values.map((value, j) => [`Filter.${i + 1}.Value.${j + 1}`, value]),
  ]);
  return request('DescribeInstances', Object.fromEntries(params));
}

/** Returns a request that this driver sends. */
export const request = (action: string, params: Readonly<Record<string, string>>): ExpectedRequest => ({
  action,
  params,
  method: '',
  path: '',
  query: {},
});
