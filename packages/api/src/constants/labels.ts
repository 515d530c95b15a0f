/**
 * Label keys. Source of keys and meanings: machine-controller-manager, pkg/apis/machine/v1alpha1/constants.go,
 * pkg/controller/deployment_util.go and pkg/util/provider/machineutils/utils.go.
 */
export const Labels = {
  /** On a Machine: name of its Node. Written once the VM is known; links Machine to Node. */
  Node: 'node',
  /** On a Node: name of its Machine. The way back when the Machine lost (or never got) its `node` label. */
  MachineName: 'node.gardener.cloud/machine-name',
  /** On Machines, through the template: name of the MachineDeployment. Metrics and the failure limit group by it. */
  DeploymentName: 'name',
  /** On MachineSet, its selector, its template and its Machines: hash of the template, one per revision. */
  TemplateHash: 'machine-template-hash',
  /** On MachineSet and MachineDeployment, exactly `True`: no machine is added while it is present. */
  Freeze: 'freeze',
  /** On a Machine, a Go boolean: drain with a one-minute limit and ignore its errors. See {@link isForceDeletion}. */
  ForceDeletion: 'force-deletion',
  /** On a Machine, exactly `True`: an in-place or preservation drain is forced. */
  ForceDrain: 'force-drain',
  /** On a Node, `true`: waits for an in-place update. */
  CandidateForUpdate: 'node.machine.sapcloud.io/candidate-for-update',
  /** On a Node (presence counts): chosen for an in-place update, by the controller (Auto) or a user (Manual). */
  SelectedForUpdate: 'node.machine.sapcloud.io/selected-for-update',
  /**
   * On a Node, `true` or a time in seconds since 1970. A rollout keeps this node until the label is removed or until this
   * time, and continues with the others. Ours.
   */
  RolloutPostpone: 'rollout.machine.sapcloud.io/postpone',
  /** On a Node `successful` or `failed`; on a Machine `successful` while it moves to the new MachineSet. */
  UpdateResult: 'node.machine.sapcloud.io/update-result',
  /** On an old MachineSet of an in-place update (presence counts): it must not refill. */
  ScaleUpDisabled: 'node.machine.sapcloud.io/scale-up-disabled',
  /** Well-known topology label; read from `spec.nodeTemplate.metadata.labels` for metrics. */
  Zone: 'topology.kubernetes.io/zone',
} as const;

/** Values of {@link Labels.UpdateResult}. */
export const UpdateResults = { Successful: 'successful', Failed: 'failed' } as const;

/** Outcome of an in-place update as the node's agent reports it. */
export type UpdateResult = (typeof UpdateResults)[keyof typeof UpdateResults];

/** The only value of `freeze`, `force-drain` and of the prefer-no-schedule taint and annotation that counts. */
export const TRUE = 'True';

/** Value of in-place labels and of the cluster-autoscaler annotations. */
export const TRUE_LOWER = 'true';

// strconv.ParseBool accepts exactly these as true.
const GO_TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);

// And these as false; it refuses everything else.
const GO_FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Whether a text is a boolean for Go's `strconv.ParseBool`. */
export const isGoBoolean = (text: string): boolean => GO_TRUE.has(text) || GO_FALSE.has(text);

/** Texts that people write for "no"; Go's are among them. */
const NO: ReadonlySet<string> = new Set([...[...GO_FALSE].map((text) => text.toLowerCase()), 'no', 'off', 'disabled']);

/** Whether a text reads as "no", such as `false`, `0` or `off`. */
export const isFalseText = (text: string): boolean => NO.has(text.trim().toLowerCase());

interface Labelled {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}

/** Whether the machine asks for a forced deletion: the label's value is true for Go's `strconv.ParseBool`. */
export const isForceDeletion = (object: Labelled): boolean =>
  GO_TRUE.has(object.metadata.labels?.[Labels.ForceDeletion] ?? '');

/** The error of the label `freeze` of an object, which has an effect only with the value `True`; undefined if it is valid. */
export function freezeProblem({ metadata }: Labelled): string | undefined {
  const text = metadata.labels?.[Labels.Freeze];
  if (text === undefined || text === TRUE || text === 'False') return undefined;
  return `metadata.labels[${Labels.Freeze}]: ${JSON.stringify(text)} freezes nothing; write "True", or remove the label`;
}

/** Whether the object carries `freeze: "True"`. */
export const isFrozen = (object: Labelled): boolean => object.metadata.labels?.[Labels.Freeze] === TRUE;
