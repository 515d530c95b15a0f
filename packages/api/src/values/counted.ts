/** Returns a number with its noun: `1 machine`, `2 machines`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
