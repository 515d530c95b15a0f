import type { Outcome } from './outcomes.ts';

export interface Program {
  /** The path of the program, relative to the folder that contains the programs. */
  readonly path: string;
  /** The working directory, relative to the folder that contains the programs. */
  readonly cwd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The format in which the program reports its results. */
  readonly results: 'ginkgo' | 'go-test' | 'pytest';
  /** The controllers for this program, if they differ from the controllers of the suite. */
  readonly controllers?: Suite['controllers'];
  /** Whether simulated kubelets run the pods. Without kubelets, the status of a pod never changes. */
  readonly kubelets?: boolean;
}

export interface Suite {
  readonly name: string;
  /** Whether the control plane runs its controllers. A list contains the names of the controllers. */
  readonly controllers: boolean | readonly string[];
  /** The names of the Nodes. A Node without a kubelet is always ready. */
  readonly nodes?: readonly string[];
  readonly programs: readonly Program[];
}

/** A test with a program of another project and the programs of mcm. */
export interface Scenario {
  readonly name: string;
  /** The paths of the programs, relative to the folder that contains them. */
  readonly files: readonly string[];
  /** @param dir The folder that contains the programs. */
  run(dir: string): Promise<Outcome[]>;
}
