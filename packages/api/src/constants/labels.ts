/**
 * Label keys. Source of keys and meanings: machine-controller-manager, pkg/apis/machine/v1alpha1/constants.go,
 * pkg/controller/deployment_util.go and pkg/util/provider/machineutils/utils.go.
 */
export const Labels = {
  /** On a Machine: the name of its Node. The machine controller writes the label when it knows the VM. */
  Node: 'node',
  /**
   * On a Node: the name of its Machine. The controllers find the Machine by the label if the Machine has no label
   * `node`.
   */
  MachineName: 'node.gardener.cloud/machine-name',
  /**
   * On a Machine: the name of its MachineDeployment, which the template contains. Metrics and the replacement limit use
   * the name in the label.
   */
  DeploymentName: 'name',
  /**
   * On a MachineSet, its selector, its template and its Machines: the hash of the template. Each revision of a
   * MachineDeployment has its own hash.
   */
  TemplateHash: 'machine-template-hash',
  /**
   * On a MachineSet or MachineDeployment. With the value `True`, the manager creates no machine; other values have no
   * effect.
   */
  Freeze: 'freeze',
  /**
   * On a Machine. With a true value such as `true` or `True`, the machine controller forces the drain and deletes pods
   * without a grace period.
   */
  ForceDeletion: 'force-deletion',
  /**
   * On a Machine. With the value `True`, the drain for an update in place or a preservation is forced; other values
   * have no effect.
   */
  ForceDrain: 'force-drain',
  /** On a Node, with the value `true`. The Node waits for an update in place. */
  CandidateForUpdate: 'node.machine.sapcloud.io/candidate-for-update',
  /** On a Node, with any value. The manager (`Auto`) or a user (`Manual`) selected the Node for an update in place. */
  SelectedForUpdate: 'node.machine.sapcloud.io/selected-for-update',
  /**
   * On a Node, with the value `true` or a time in seconds since 1970. Until the time, or until a user removes the
   * label, a rollout does not change the Node. The rollout continues with other Nodes.
   */
  RolloutPostpone: 'rollout.machine.sapcloud.io/postpone',
  /** On a Pod, with the value `true`. The readiness of the Pod does not stop a rollout after the soak time of canaries. */
  IgnoreReadiness: 'rollout.machine.sapcloud.io/ignore-readiness',
  /**
   * On a Node, with the value `successful` or `failed`: the result of the update in place. On a Machine, `successful`
   * while the manager moves the machine to the new MachineSet.
   */
  UpdateResult: 'node.machine.sapcloud.io/update-result',
  /** On an old MachineSet during an update in place, with any value. The MachineSet creates no machines. */
  ScaleUpDisabled: 'node.machine.sapcloud.io/scale-up-disabled',
  /** On an EvictionRequest: the UID of the Machine whose drain created the request. */
  MachineUid: 'machine.sapcloud.io/machine-uid',
  /** The zone label of Kubernetes, read from `spec.nodeTemplate.metadata.labels` for metrics. */
  Zone: 'topology.kubernetes.io/zone',
} as const;

/** Values of {@link Labels.UpdateResult}. */
export const UpdateResults = { Successful: 'successful', Failed: 'failed' } as const;

/** Result of an in-place update, as reported by the agent of the node. */
export type UpdateResult = (typeof UpdateResults)[keyof typeof UpdateResults];

/** The only effective value of `freeze`, `force-drain`, and the prefer-no-schedule taint and annotation. */
export const TRUE = 'True';

/** Value of the in-place labels and of the cluster-autoscaler annotations. */
export const TRUE_LOWER = 'true';

// The texts that strconv.ParseBool accepts as true.
const GO_TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);

// The texts that strconv.ParseBool accepts as false. strconv.ParseBool refuses all other texts.
const GO_FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Returns true if Go's `strconv.ParseBool` accepts the text as a boolean. */
export const isGoBoolean = (text: string): boolean => GO_TRUE.has(text) || GO_FALSE.has(text);

/** The texts with which users mean "no", including the texts that Go parses as false. */
const NO: ReadonlySet<string> = new Set([...[...GO_FALSE].map((text) => text.toLowerCase()), 'no', 'off', 'disabled']);

/** Returns true for texts such as `false`, `0` or `off`. */
export const isFalseText = (text: string): boolean => NO.has(text.trim().toLowerCase());

interface Labelled {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}

/** Returns true if Go's `strconv.ParseBool` reads the value of the label `force-deletion` as true. */
export const isForceDeletion = (object: Labelled): boolean =>
  GO_TRUE.has(object.metadata.labels?.[Labels.ForceDeletion] ?? '');

/** Returns a warning if the label `freeze` has another value than `True`, because only `True` has an effect. */
export function freezeProblem({ metadata }: Labelled): string | undefined {
  const text = metadata.labels?.[Labels.Freeze];
  if (text === undefined || text === TRUE || text === 'False') return undefined;
  return `metadata.labels[${Labels.Freeze}]: ${JSON.stringify(text)} has no effect; write "True", or remove the label`;
}

/** Returns true if the object has the label `freeze: "True"`. */
export const isFrozen = (object: Labelled): boolean => object.metadata.labels?.[Labels.Freeze] === TRUE;
