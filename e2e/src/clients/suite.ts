import type { Outcome } from './outcomes.ts';

export interface Program {
  /** The path of the program in the folder of programs. */
  readonly path: string;
  /** The working directory in the folder of programs. */
  readonly cwd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The format of the results. */
  readonly results: 'ginkgo' | 'go-test' | 'pytest';
  /** The controllers for this program, instead of the controllers of the suite. */
  readonly controllers?: Suite['controllers'];
  /** Whether simulated kubelets run the pods of the Nodes. Without kubelets, no pod changes its state. */
  readonly kubelets?: boolean;
}

export interface Suite {
  readonly name: string;
  /** Whether the control plane runs controllers. A list contains the names of the controllers to run. */
  readonly controllers: boolean | readonly string[];
  /** The names of the Nodes. Nodes without kubelets are always ready. */
  readonly nodes?: readonly string[];
  readonly programs: readonly Program[];
}

/** A foreign program that runs together with the programs of mcm. */
export interface Scenario {
  readonly name: string;
  /** The paths of the programs in the folder of programs. */
  readonly files: readonly string[];
  /** @param dir The folder of programs. */
  run(dir: string): Promise<Outcome[]>;
}
