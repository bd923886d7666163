// Secrets as access tokens look: 40 letters and digits, the same in every run.
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

export function tokens(count) {
  let seed = 20_240_229
  const letter = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return LETTERS[(seed >>> 16) % LETTERS.length]
  }
  return Array.from({ length: count }, () => Array.from({ length: 40 }, letter).join(''))
}
