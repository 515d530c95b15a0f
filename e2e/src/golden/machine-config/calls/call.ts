/** Calls the mcm version of one function of the original. */
export type Call = (input: never) => Record<string, unknown> | Promise<Record<string, unknown>>;

/** Returns the message of the error that a function throws. */
export const errorOf = (work: () => void): string | null => {
  try {
    work();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

export function attempt(work: () => Record<string, unknown>): Record<string, unknown> {
  try {
    return { error: null, ...work() };
  } catch (error) {
    return { error: (error as Error).message };
  }
}
